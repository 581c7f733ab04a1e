/**
 * Matches what a re-executed agent yields with what its log already holds, for each actor by itself. While the two agree nothing
 * is written, so a deterministic agent continues exactly where it was interrupted; when they differ, the rest of that actor's old output is
 * retracted.
 */
import type { EncodedEvent } from '../execution/emission.ts'
import { digestOfBody } from './emitted-output.ts'
import type { Actor } from '../model/event.ts'
import type { RecordBody } from '../model/record.ts'
import { actorKey, isWithin } from '../structure/actors.ts'
import type { ActorOutput, OutputByActor } from './recording.ts'
import type { RunLog } from '../execution/run-log.ts'

interface ExpectedOutput extends ActorOutput {
  /** How much of it has been emitted again. */
  matched: number
}

export class Replay {
  readonly #expected = new Map<string, ExpectedOutput>()

  /** By actor: events of an upstream after its last output. They are dropped by count when they come again. */
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

  /** Whether what an actor emits now may still be in the log. */
  isReplaying(actor: Actor | undefined): boolean {
    return this.#expected.has(actorKey(actor))
  }

  /** Whether the log has the emission already. */
  match({ type, body, actor }: EncodedEvent, log: RunLog): boolean {
    const key = actorKey(actor)
    return type === 'upstream.received' ? this.#wasReceived(key) : this.#matchAll(key, [body], log)
  }

  /**
   * Whether the log has a batch already: an event of an upstream and what is derived from it. Only the latter is compared, since an
   * upstream that is asked again may repeat its events in other words.
   */
  matchTogether(batch: readonly EncodedEvent[], log: RunLog): boolean {
    const key = actorKey(batch[0]!.actor)
    const derived = batch.flatMap(({ type, body }) => (type === 'upstream.received' ? [] : [body]))
    return derived.length === 0 ? this.#wasReceived(key) : this.#matchAll(key, derived, log)
  }

  /** All of them are the next output in the log; otherwise the rest of that is retracted. */
  #matchAll(key: string, bodies: readonly RecordBody[], log: RunLog): boolean {
    const expected = this.#expected.get(key)
    if (expected === undefined) {
      this.#trailing.delete(key)
      return false
    }
    const { emitted, matched } = expected
    const isNext = (body: RecordBody, at: number): boolean => emitted.isAt(matched + at, digestOfBody(body))
    if (matched + bodies.length > emitted.length || !bodies.every(isNext)) {
      this.#retract(key, expected, log)
      return false
    }
    expected.matched += bodies.length
    if (expected.matched === emitted.length) this.#expected.delete(key)
    return true
  }

  /** An event without anything derived: before output that the log has already, it is not told again. */
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
      // With the event of an upstream that the output is derived from.
      from: received.has(index - 1) ? index - 1 : index,
      scope: 'own',
      ledger: 'kept',
      reason: 'diverged',
    } as const
    log.append({ type: 'attempt.discarded', data, ...(actor !== undefined && { actor }) })
  }
}
