/** A persistent list: appending shares the existing entries, so that a pure fold need not copy it. */

export type Trail<Value> = { readonly index: number; readonly value: Value; readonly before: Trail<Value> } | undefined

/** `index`: log index of the value. */
export function add<Value>(trail: Trail<Value>, index: number, value: Value): Trail<Value> {
  return { index, value, before: trail }
}

/** Removes entries since an index, except those that `stays` selects. */
export function retract<Value>(
  trail: Trail<Value>,
  from: number,
  stays: (value: Value) => boolean = () => false,
): Trail<Value> {
  const staying: { readonly index: number; readonly value: Value }[] = []
  let rest = trail
  for (; rest !== undefined && rest.index >= from; rest = rest.before) if (stays(rest.value)) staying.push(rest)
  for (const { index, value } of staying.toReversed()) rest = add(rest, index, value)
  return rest
}

export interface Entry<Value> {
  readonly index: number
  readonly value: Value
}

/** Oldest first. */
export function entries<Value>(trail: Trail<Value>): Entry<Value>[] {
  const found: Entry<Value>[] = []
  for (let at = trail; at !== undefined; at = at.before) found.push(at)
  return found.toReversed()
}

export function values<Value>(trail: Trail<Value>): Value[] {
  return entries(trail).map(({ value }) => value)
}

/** The newest match. */
export function last<Value>(trail: Trail<Value>, fits: (value: Value) => boolean): Value | undefined {
  for (let at = trail; at !== undefined; at = at.before) if (fits(at.value)) return at.value
  return undefined
}
