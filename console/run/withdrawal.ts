/** Determines whose output a retraction concerns. */
import type { Actor, LoggedEvent } from 'holdfast/client'

export type Withdrawal = Extract<LoggedEvent, { type: 'attempt.discarded' }>

/** Deeper than any nesting of component calls. */
const DEPTH_MAX = 100

/** `whose`: run id of an actor; '' is the run's own component. */
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
