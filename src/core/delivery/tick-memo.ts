/**
 * Memoizes values per slice for the current tick of the event loop. All subscribers of a run receive a commit in the same tick, so a
 * longer cache would not help. A WeakMap was slower: it costs more in garbage collection than the fold itself.
 */
import type { Slice } from '../model/slice.ts'
import { eventLoop, eventLoopTick } from '../runtime/event-loop-tick.ts'

/** A memoized value, and the others of the same slice. The list is short: one entry per protocol in use. */
interface Entry {
  readonly namespace: object
  readonly value: unknown
  readonly next: Entry | undefined
}

const memo = new Map<Slice, Entry>()
let tick: number | undefined

/** `namespace`: separates the memos of different callers. `isValid`: the value is computed again if this returns false. */
export function oncePerTick<Value>(
  slice: Slice,
  namespace: object,
  compute: () => Value,
  isValid: (value: Value) => boolean = () => true,
): Value {
  const now = eventLoopTick()
  if (now !== tick) {
    tick = now
    memo.clear()
    eventLoop.defer(() => memo.clear()) // entries of an idle memo must not stay in memory
  }
  for (let known = memo.get(slice); known !== undefined; known = known.next)
    if (known.namespace === namespace && isValid(known.value as Value)) return known.value as Value
  const value = compute()
  memo.set(slice, { namespace, value, next: memo.get(slice) })
  return value
}
