/** Forks of sessions: a fork starts with the runs that its origin had at that moment. Logs are immutable, so nothing is copied. */
import type { Document } from '../model/document.ts'
import type { Position } from '../model/page.ts'

export interface ForkOrigin {
  readonly session: string
  /** Last run of the origin that the fork includes; absent if the origin had none. */
  readonly last?: Position
}

/** Maximum chain of forks. */
const FORKS_MAX = 8

/** Origin of a forked session; undefined if it is not a fork. Holdfast 0.2 stored it in the AgentOS fields. */
export function forkOrigin({ body }: Pick<Document, 'body'>): ForkOrigin | undefined {
  const { forkedFrom, agentos } = (body ?? {}) as { forkedFrom?: ForkOrigin; agentos?: { forkedFrom?: ForkOrigin } }
  return forkedFrom ?? agentos?.forkedFrom
}

export interface Ancestor {
  /** Id of the session. */
  readonly id: string
  /** Its last run that is included. Default: all are. */
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
