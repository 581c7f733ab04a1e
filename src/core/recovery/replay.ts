/**
 * Matches what a re-executed agent yields with what its log already holds, for each actor by itself. While the two agree nothing
 * is written, so a deterministic agent continues exactly where it was interrupted; when they differ, the rest of that actor's old output is
 * retracted.
 */
import type { EncodedEvent } from '../execution/emission.ts'
import { digestOfBody } from './emitted-output.ts'
import type { Actor } from '../model/event.ts'
import { actorKey, isWithin } from '../structure/actors.ts'
import type { ActorOutput, OutputByActor } from './recording.ts'
import type { RunLog } from '../execution/run-log.ts'

interface ExpectedOutput extends ActorOutput {
  /** How much of it has been emitted again. */
  matched: number
}

export class Replay {
  readonly #expected = new Map<string, ExpectedOutput>()

  /** Events of an upstream that the log has, by actor, and that are still to come again. */
  readonly #received = new Map<string, number>()

  constructor(output: OutputByActor) {
    for (const [key, known] of output) {
      if (known.emitted.length > 0) this.#expected.set(key, { ...known, matched: 0 })
      if (known.received.length > 0) this.#received.set(key, known.received.length)
    }
  }

  /** Whether what an actor emits now may still be in the log. */
  isReplaying(actor: Actor | undefined): boolean {
    return this.#expected.has(actorKey(actor))
  }

  /** Whether the log has the emission already. */
  match({ type, body, actor }: EncodedEvent, log: RunLog): boolean {
    const key = actorKey(actor)
    if (type === 'upstream.received') return this.#wasReceived(key)
    const expected = this.#expected.get(key)
    if (expected === undefined) return false
    if (!expected.emitted.isAt(expected.matched, digestOfBody(body))) {
      this.#retract(key, expected, log)
      return false
    }
    expected.matched++
    if (expected.matched === expected.emitted.length) this.#expected.delete(key)
    return true
  }

  /** By count: an upstream that is asked again may repeat its events in other words, and what is derived from them is matched. */
  #wasReceived(key: string): boolean {
    const left = this.#received.get(key) ?? 0
    if (left > 0) this.#received.set(key, left - 1)
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

  #retract(key: string, { actor, emitted, matched }: ExpectedOutput, log: RunLog): void {
    this.#expected.delete(key)
    this.#received.delete(key)
    const data = {
      attempt: emitted.attemptOf(matched),
      from: emitted.indexOf(matched),
      scope: 'own',
      ledger: 'kept',
      reason: 'diverged',
    } as const
    log.append({ type: 'attempt.discarded', data, ...(actor !== undefined && { actor }) })
  }
}
