/** The sessions of a server: conversations that group runs. */
import { hasId, isListOf, REMOVAL, type Request, type Transport } from './transport.ts'
import type { Abortable, RunFilter, RunPage, SessionFilter, SessionInfo, SessionPage } from './types.ts'

const PATH = '/native/sessions'

type ListRuns = (filter: RunFilter, options?: Abortable) => Promise<RunPage>

export class Sessions {
  readonly #transport: Transport
  readonly #listRuns: ListRuns

  constructor(transport: Transport, listRuns: ListRuns) {
    this.#transport = transport
    this.#listRuns = listRuns
  }

  list(query: SessionFilter = {}, { signal }: Abortable = {}): Promise<SessionPage> {
    return this.#transport.json<SessionPage>({
      path: PATH,
      query: { ...query },
      signal,
      answer: ({ sessions, total }) => isListOf(sessions, hasId) && typeof total === 'number',
    })
  }

  get(session: string, options?: Abortable): Promise<SessionInfo> {
    return this.#ask(session, {}, options)
  }

  rename(session: string, name: string, options?: Abortable): Promise<SessionInfo> {
    return this.#ask(session, { method: 'PATCH', body: { name } }, options)
  }

  /** Removes a session with all its runs. Runs that have not ended are stopped first. */
  delete(session: string, options?: Abortable): Promise<void> {
    return this.#ask(session, REMOVAL, options)
  }

  /** Runs of one session, newest first. */
  runs(session: string, filter: Omit<RunFilter, 'session'> = {}, options?: Abortable): Promise<RunPage> {
    return this.#listRuns({ ...filter, session }, options)
  }

  #ask<Body>(session: string, request: Partial<Request>, { signal }: Abortable = {}): Promise<Body> {
    const path = `${PATH}/${encodeURIComponent(session)}`
    return this.#transport.json<Body>({ path, signal, answer: ({ id }) => id === session, ...request })
  }
}
