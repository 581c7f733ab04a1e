/** A persistent list: appending shares the existing entries, so that a pure fold need not copy it. */

export type PersistentList<Value> =
  | { readonly index: number; readonly value: Value; readonly before: PersistentList<Value> }
  | undefined

/** `index`: log index of the value. */
export function appendTo<Value>(trail: PersistentList<Value>, index: number, value: Value): PersistentList<Value> {
  return { index, value, before: trail }
}

/** Removes entries since an index, except those that `stays` selects. */
export function retractFrom<Value>(
  trail: PersistentList<Value>,
  from: number,
  stays: (value: Value) => boolean = () => false,
): PersistentList<Value> {
  const staying: { readonly index: number; readonly value: Value }[] = []
  let rest = trail
  for (; rest !== undefined && rest.index >= from; rest = rest.before) if (stays(rest.value)) staying.push(rest)
  for (const { index, value } of staying.toReversed()) rest = appendTo(rest, index, value)
  return rest
}

export interface Entry<Value> {
  readonly index: number
  readonly value: Value
}

/** Oldest first. */
export function entriesOf<Value>(trail: PersistentList<Value>): Entry<Value>[] {
  const found: Entry<Value>[] = []
  for (let at = trail; at !== undefined; at = at.before) found.push(at)
  return found.toReversed()
}

export function valuesOf<Value>(trail: PersistentList<Value>): Value[] {
  return entriesOf(trail).map(({ value }) => value)
}

/** The newest match. */
export function newestOf<Value>(trail: PersistentList<Value>, fits: (value: Value) => boolean): Value | undefined {
  for (let at = trail; at !== undefined; at = at.before) if (fits(at.value)) return at.value
  return undefined
}
