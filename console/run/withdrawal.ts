/** Whose output a withdrawal is about. */
import type { Actor, LoggedEvent } from 'holdfast/client'

export type Withdrawal = Extract<LoggedEvent, { type: 'attempt.discarded' }>

/** Deeper than any call of a component by another. */
const DEPTH_MAX = 100

/** Of an actor by its run id; '' is the run's own component. */
export function concerns({ actor, data }: Withdrawal, whose: string, actors: ReadonlyMap<string, Actor>): boolean {
  const own = actor?.run ?? ''
  if (data.scope === 'all' || whose === own) return true
  if (data.scope === 'own') return false
  for (let at: string | undefined = whose, depth = 0; at !== undefined && depth < DEPTH_MAX; depth++) {
    if (at === own) return true
    at = actors.get(at)?.parent
  }
  return own === ''
}
