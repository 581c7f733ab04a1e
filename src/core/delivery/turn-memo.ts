/**
 * What was computed of a slice, until the event loop's turn ends. A commit is given to all subscribers of its run in one turn, so this is
 * as long as they can share it. A WeakMap would need no turn, and costs the garbage collector more than the fold.
 */
import type { Slice } from '../model/record.ts'
import { eventLoop, eventLoopTick } from '../runtime/event-loop-tick.ts'

const memo = new Map<Slice, Map<object, unknown>>()
let turn: number | undefined

/** `by`: who computes it. Computed again if what is known does not fit. */
export function onceATurn<Value>(
  slice: Slice,
  by: object,
  compute: () => Value,
  fits: (value: Value) => boolean = () => true,
): Value {
  const now = eventLoopTick()
  if (now !== turn) {
    turn = now
    memo.clear()
    eventLoop.defer(() => memo.clear()) // what nobody asks for again is not kept
  }
  let ofSlice = memo.get(slice)
  if (ofSlice === undefined) memo.set(slice, (ofSlice = new Map()))
  const known = ofSlice.get(by) as Value | undefined
  if (known !== undefined && fits(known)) return known
  const value = compute()
  ofSlice.set(by, value)
  return value
}
