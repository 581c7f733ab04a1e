/** The rule for what a discarded attempt retracts. All views, the client, the console and recovery use it. */
import type { LoggedEvent } from '../model/event.ts'
import { actorKey, isWithin } from './actors.ts'

export type DiscardedAttempt = Extract<LoggedEvent, { type: 'attempt.discarded' }>

/** The index from which the output of an actor, identified by its key, is retracted. Infinity if nothing is. */
export function retractedFrom({ data: { from, scope }, actor }: DiscardedAttempt, whose: string): number {
  const discarded = actorKey(actor)
  const isConcerned = scope === 'all' || whose === discarded || (scope === 'below' && isWithin(whose, discarded))
  return isConcerned ? from : Infinity
}

/** The index from which an actor's recorded work is retracted. Results stay valid while the ledger is kept. */
export function workRetractedFrom(event: DiscardedAttempt, whose: string): number {
  return event.data.ledger === 'dropped' ? retractedFrom(event, whose) : Infinity
}
