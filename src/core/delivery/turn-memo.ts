/**
 * What was computed of a slice, until the event loop's turn ends. A commit is given to all subscribers of its run in one turn, so this is
 * as long as they can share it. A WeakMap would need no turn, and costs the garbage collector more than the fold.
 */
import type { Slice } from '../model/record.ts'
import { eventLoop, eventLoopTick } from '../runtime/event-loop-tick.ts'

/** What one of them has computed of a slice, and the others before it. They are few: a view for each protocol in use. */
interface Computed {
  readonly by: object
  readonly value: unknown
  readonly next: Computed | undefined
}

const memo = new Map<Slice, Computed>()
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
  for (let known = memo.get(slice); known !== undefined; known = known.next)
    if (known.by === by && fits(known.value as Value)) return known.value as Value
  const value = compute()
  memo.set(slice, { by, value, next: memo.get(slice) })
  return value
}
