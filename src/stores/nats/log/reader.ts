/** Reads slices of a run's log. */
import { assertReadable } from '../../../core/model/cursor.ts'
import { HoldfastError, runNotFound } from '../../../core/model/errors.ts'
import { lastOf, type Slice, sliceWithin } from '../../../core/model/slice.ts'
import { isFinished } from '../../../core/model/run.ts'
import { joinAfter } from '../../shared/join-after.ts'
import { UnreadableRun } from '../following/alarms.ts'
import type { RunMessages, Tip } from './run-messages.ts'

/** Messages requested concurrently, in growing batches, since one is often enough. */
const BATCHES = [1, 4, 16, 64]
const TRIES_MAX = 3

/** `known`: the run as this node last saw it, which suffices if it has the requested records. */
export async function readLog(
  messages: RunMessages,
  known: Tip | undefined,
  id: string,
  after: number,
  maxBytes: number,
): Promise<Slice | undefined> {
  const isEnough = known !== undefined && after >= known.head.first - 1 && after < known.head.next - 1
  let tip = isEnough ? known : undefined
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    tip ??= await messages.tip(id)
    if (tip === undefined || after >= tip.head.next) tip = await messages.settledTip(id)
    if (tip === undefined || tip.head.tombstone !== undefined) throw runNotFound(id)
    const { first, next } = tip.head
    assertReadable({ run: { id }, first, next }, after)
    if (after === next - 1) return undefined
    const slice = await readFrom(messages, tip, after, maxBytes)
    if (slice !== undefined) return slice
    // Trimmed or removed while it was read.
    messages.messageIndex.forget(id)
    tip = undefined
  }
  throw await missing(messages, id, after)
}

/** Error for events that are missing although the run lists them: the stream was purged or got a limit. */
async function missing(messages: RunMessages, id: string, after: number): Promise<HoldfastError> {
  const earliest = await messages.earliest(id)
  if (earliest === undefined || earliest <= after + 1)
    return new UnreadableRun(id, `event ${after + 1} is missing in its stream`)
  const message = `run ${id}: events before ${earliest} were purged from the NATS stream by something other than Holdfast`
  return new HoldfastError('cursor_expired', message, { details: { earliest } })
}

/** Undefined if a message is missing. */
async function readFrom(messages: RunMessages, tip: Tip, after: number, maxBytes: number): Promise<Slice | undefined> {
  const { id, next, status } = tip.head
  const positions = (await messages.positions(id, tip, after + 1)).filter((position) => position.next > position.from)
  if (positions.length === 0 || positions[0]!.from > after + 1) return undefined
  const slices: Slice[] = []
  let bytes = 0
  for (let at = 0, round = 0; at < positions.length && bytes < maxBytes; round++) {
    const batch = positions.slice(at, at + (BATCHES[round] ?? BATCHES.at(-1)!))
    at += batch.length
    const loaded = await Promise.all(batch.map((position) => messages.records(tip, position)))
    for (const slice of loaded) {
      if (slice === undefined) return undefined
      slices.push(slice)
      bytes += slice.bytes.length
    }
  }
  const slice = sliceWithin(joinAfter(slices, after, maxBytes), maxBytes)
  return { ...slice, closed: isFinished(status) && lastOf(slice) === next - 1 }
}

/** The records from an index on, if they are few enough to be rewritten. */
export async function readTail(
  messages: RunMessages,
  tip: Tip,
  first: number,
  maxBytes: number,
): Promise<Slice | undefined> {
  const slice = await readLog(messages, tip, tip.head.id, first - 1, maxBytes)
  return slice !== undefined && lastOf(slice) === tip.head.next - 1 && slice.bytes.length <= maxBytes
    ? slice
    : undefined
}
