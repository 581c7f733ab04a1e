/** Which actor an event belongs to, and which actors are nested in which. */
import type { Actor } from '../model/event.ts'

/** '' for the run's own component, the actor's run id otherwise. */
export function actorKey(actor: Actor | undefined): string {
  return actor?.run ?? ''
}

/**
 * Whether an actor is `outer` itself or was called by it, at any depth. A called actor's run id is its caller's, a slash and its
 * position, so `facts-more` is not within `facts`. Every actor is within the run's own component.
 */
export function isWithin(key: string, outer: string): boolean {
  return outer === '' || key === outer || key.startsWith(`${outer}/`)
}
