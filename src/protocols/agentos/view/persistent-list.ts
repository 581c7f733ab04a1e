/** A persistent list: appending shares the existing entries, so that a pure fold need not copy it. */

export type PersistentList<Value> =
  | { readonly index: number; readonly value: Value; readonly before: PersistentList<Value> }
  | undefined

/** `index`: log index of the value. */
export function appendTo<Value>(list: PersistentList<Value>, index: number, value: Value): PersistentList<Value> {
  return { index, value, before: list }
}

/** Removes entries since an index, except those that `stays` selects. */
export function retractFrom<Value>(
  list: PersistentList<Value>,
  from: number,
  stays: (value: Value) => boolean = () => false,
): PersistentList<Value> {
  const staying: { readonly index: number; readonly value: Value }[] = []
  let rest = list
  for (; rest !== undefined && rest.index >= from; rest = rest.before) if (stays(rest.value)) staying.push(rest)
  for (const { index, value } of staying.toReversed()) rest = appendTo(rest, index, value)
  return rest
}

export interface Entry<Value> {
  readonly index: number
  readonly value: Value
}

/** Oldest first. */
export function entriesOf<Value>(list: PersistentList<Value>): Entry<Value>[] {
  const found: Entry<Value>[] = []
  for (let at = list; at !== undefined; at = at.before) found.push(at)
  return found.toReversed()
}

export function valuesOf<Value>(list: PersistentList<Value>): Value[] {
  return entriesOf(list).map(({ value }) => value)
}

/** The newest match. */
export function newestOf<Value>(list: PersistentList<Value>, fits: (value: Value) => boolean): Value | undefined {
  for (let at = list; at !== undefined; at = at.before) if (fits(at.value)) return at.value
  return undefined
}
