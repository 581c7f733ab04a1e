/** Forks of sessions: a fork begins with the runs that its origin had at that moment. Logs never change, so nothing is copied. */
import type { Document } from '../model/document.ts'
import type { Position } from '../model/page.ts'

export interface ForkOrigin {
  readonly session: string
  /** Last run of the origin that the fork has; absent if the origin had none. */
  readonly last?: Position
}

/** Forks of forks of forks: how many origins are looked at. */
const FORKS_MAX = 8

/** Where a session was forked; undefined if it is no fork. Holdfast 0.2 kept it among the facts of AgentOS. */
export function forkOrigin({ body }: Pick<Document, 'body'>): ForkOrigin | undefined {
  const { forkedFrom, agentos } = (body ?? {}) as { forkedFrom?: ForkOrigin; agentos?: { forkedFrom?: ForkOrigin } }
  return forkedFrom ?? agentos?.forkedFrom
}

export interface Ancestor {
  /** Id of the session. */
  readonly id: string
  /** The last of its runs that count. Default: all. */
  readonly last?: Position
}

/** A session, its origin, the origin's origin, and so on. `find` returns the document of a session. */
export async function* sessionLineage(
  session: string,
  find: (id: string) => Promise<Pick<Document, 'body'> | undefined>,
): AsyncGenerator<Ancestor> {
  let at: Ancestor | undefined = { id: session }
  for (let depth = 0; at !== undefined && depth <= FORKS_MAX; depth++) {
    yield at
    const document = await find(at.id)
    const origin = document === undefined ? undefined : forkOrigin(document)
    at = origin?.last === undefined ? undefined : { id: origin.session, last: origin.last }
  }
}
