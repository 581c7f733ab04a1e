/**
 * Matches the output of a re-executed agent with its log, per actor. While the two agree nothing is written, so a deterministic
 * agent continues exactly where it was interrupted. When they differ, the rest of that actor's old output is retracted.
 */
import type { EncodedBatch, EncodedEvent } from '../execution/emission.ts'
import { digestOfBody } from './emitted-output.ts'
import type { Actor } from '../model/event.ts'
import { actorKey, isWithin } from '../structure/actors.ts'
import { endOfText, loggedPieces, unloggedInAnyOrder } from './logged-pieces.ts'
import type { ActorOutput, OutputByActor } from './recording.ts'
import type { RunLog } from '../execution/run-log.ts'

interface ExpectedOutput extends ActorOutput {
  /** Number of events emitted again. */
  matched: number
}

export class Replay {
  readonly #expected = new Map<string, ExpectedOutput>()

  /** By actor: number of upstream events after its last output. As many are dropped when they are received again. */
  readonly #trailing = new Map<string, number>()

  constructor(output: OutputByActor) {
    for (const [key, known] of output) {
      const { emitted, received } = known
      if (emitted.length > 0) this.#expected.set(key, { ...known, matched: 0 })
      const last = emitted.length > 0 ? emitted.indexOf(emitted.length - 1) : -1
      const trailing = received.length - received.positionAfter(last)
      if (trailing > 0) this.#trailing.set(key, trailing)
    }
  }

  /** Whether an actor's next output may already be logged. */
  isReplaying(actor: Actor | undefined): boolean {
    return this.#expected.has(actorKey(actor))
  }

  /**
   * The part of a batch that is not logged. A batch is one event, or an upstream's event and the events derived from it. Only
   * derived events are compared: an upstream that repeats a response may phrase its events differently. Texts are compared, not
   * their pieces.
   */
  unlogged(batch: EncodedBatch, log: RunLog): readonly EncodedEvent[] {
    const { events, isSnapshot } = batch
    const key = actorKey(events[0]!.actor)
    const derived = events.filter(({ type }) => type !== 'upstream.received')
    if (derived.length === 0) return this.#wasReceived(key) ? [] : events
    const expected = this.#expected.get(key)
    if (expected === undefined) {
      this.#trailing.delete(key)
      return events
    }
    const { position, rest } = isSnapshot ? matchSnapshot(derived, expected) : match(derived, expected, false)
    const isLogged = rest.length === 0
    // Part of an increment would be shown twice: by the log, and by the upstream's event.
    const mayBePart = isSnapshot || events.length === 1
    if (isLogged || mayBePart) expected.matched = position
    const isBehind = expected.matched < expected.emitted.length
    if (!isBehind) this.#expected.delete(key)
    else if (!isLogged) this.#retract(key, expected, log)
    if (!isSnapshot) return isLogged ? [] : mayBePart ? rest : events
    // Events after a snapshot are new, and so may be its status.
    this.#trailing.delete(key)
    return isLogged && isBehind ? [] : [...events.filter(({ type }) => type === 'upstream.received'), ...rest]
  }

  /** Whether an upstream event without derived events precedes output that is already logged. It is not logged again. */
  #wasReceived(key: string): boolean {
    if (this.#expected.has(key)) return true
    const left = this.#trailing.get(key) ?? 0
    if (left > 0) this.#trailing.set(key, left - 1)
    return left > 0
  }

  /** A step has ended: retracts the rest of its actor's output, which was part of it. */
  retractOwn(actor: Actor | undefined, log: RunLog): void {
    const key = actorKey(actor)
    const expected = this.#expected.get(key)
    if (expected !== undefined) this.#retract(key, expected, log)
  }

  /** An actor has ended: retracts the rest of its output and of the actors that it called. */
  retract(actor: Actor, log: RunLog): void {
    for (const [key, expected] of this.#below(actor)) this.#retract(key, expected, log)
  }

  retractAll(log: RunLog): void {
    for (const [key, expected] of this.#expected) this.#retract(key, expected, log)
  }

  #below({ run }: Actor): [string, ExpectedOutput][] {
    return [...this.#expected].filter(([key]) => isWithin(key, run))
  }

  #retract(key: string, { actor, emitted, received, matched }: ExpectedOutput, log: RunLog): void {
    this.#expected.delete(key)
    this.#trailing.delete(key)
    const index = emitted.indexOf(matched)
    const data = {
      attempt: emitted.attemptOf(matched),
      // Includes the upstream event that the output was derived from.
      from: received.has(index - 1) ? index - 1 : index,
      scope: 'own',
      ledger: 'kept',
      reason: 'diverged',
    } as const
    log.append({ type: 'attempt.discarded', data, ...(actor !== undefined && { actor }) })
  }
}

interface Match {
  /** Position up to which the log matches the events. */
  readonly position: number
  /** Events after that position. */
  readonly rest: readonly EncodedEvent[]
}

function match(events: readonly EncodedEvent[], { emitted, matched }: ExpectedOutput, isSnapshot: boolean): Match {
  let position = matched
  const isNext = (event: EncodedEvent): boolean =>
    position < emitted.length && emitted.isAt(position, digestOfBody(event.body))
  for (const [at, event] of events.entries()) {
    if (isNext(event)) position++
    else {
      const found = loggedPieces(event, emitted, position)
      position = found?.position ?? position
      const rest = found === undefined ? event : found.rest
      if (rest !== undefined) return { position, rest: [rest, ...events.slice(at + 1)] }
    }
    const end = isSnapshot && position < emitted.length ? endOfText(event) : undefined
    if (end !== undefined && isNext(end)) position++
  }
  return { position, rest: [] }
}

/** Also matches in any order, because a snapshot has texts one after the other that were logged interleaved. */
function matchSnapshot(events: readonly EncodedEvent[], expected: ExpectedOutput): Match {
  const inOrder = match(events, expected, true)
  const { emitted, matched } = expected
  if (inOrder.rest.length === 0 || inOrder.position === emitted.length) return inOrder
  const rest = unloggedInAnyOrder(events, emitted, matched)
  return rest === undefined ? inOrder : { position: emitted.length, rest }
}
