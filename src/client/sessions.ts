/** The sessions of a server: conversations that group runs. */
import type { LoggedEvent } from '../core/model/event.ts'
import { type FollowSessionOptions, SessionStream } from './follow-session.ts'
import type { RunHandle } from './run.ts'
import { hasId, isListOf, REMOVAL, type Request, type Transport } from './transport.ts'
import { type SessionMessage, SessionView } from './session-view.ts'
import type { RequestOptions, RunFilter, RunPage, SessionFilter, SessionInfo, SessionPage } from './types.ts'

const PATH = '/native/sessions'

/** Maximum pages of events that one call reads. */
const PAGES_MAX = 10_000

interface EventsPage {
  readonly events: readonly LoggedEvent[]
  readonly cursor: string
  readonly gap?: unknown
}

type ListRuns = (filter: RunFilter, options?: RequestOptions) => Promise<RunPage>

export type OpenRun = (run: string) => RunHandle

/** One session: the methods of `client.sessions` without the id, and handles of its runs. */
export class SessionHandle {
  readonly id: string
  /** A handle of one of its runs. Sends no request. */
  readonly run: OpenRun
  readonly #sessions: Sessions

  constructor(id: string, sessions: Sessions, run: OpenRun) {
    this.id = id
    this.run = run
    this.#sessions = sessions
  }

  /** Newest first. */
  runs(filter?: Omit<RunFilter, 'session'>, options?: RequestOptions): Promise<RunPage> {
    return this.#sessions.runs(this.id, filter, options)
  }

  /** Events of all its runs, present and future, whoever starts them. */
  follow(options?: FollowSessionOptions): SessionStream {
    return this.#sessions.follow(this.id, options)
  }

  /** The conversation so far: the inputs of its runs, and their text and tool calls. */
  messages(options?: RequestOptions): Promise<readonly SessionMessage[]> {
    return this.#sessions.messages(this.id, options)
  }

  get(options?: RequestOptions): Promise<SessionInfo> {
    return this.#sessions.get(this.id, options)
  }

  rename(name: string, options?: RequestOptions): Promise<SessionInfo> {
    return this.#sessions.rename(this.id, name, options)
  }

  /** Removes the session with all its runs. Unfinished runs are stopped first. */
  delete(options?: RequestOptions): Promise<void> {
    return this.#sessions.delete(this.id, options)
  }
}

/** The sessions of a server, which group runs: `client.sessions`. */
export class Sessions {
  readonly #transport: Transport
  readonly #listRuns: ListRuns
  readonly #openRun: OpenRun

  constructor(transport: Transport, listRuns: ListRuns, openRun: OpenRun) {
    this.#transport = transport
    this.#listRuns = listRuns
    this.#openRun = openRun
  }

  list(query: SessionFilter = {}, { signal }: RequestOptions = {}): Promise<SessionPage> {
    return this.#transport.json<SessionPage>({
      path: PATH,
      query: { ...query },
      signal,
      validate: ({ sessions, total }) => isListOf(sessions, hasId) && typeof total === 'number',
    })
  }

  /** A handle of one session. Sends no request. */
  open(session: string): SessionHandle {
    return new SessionHandle(session, this, this.#openRun)
  }

  /** Events of all its runs, present and future, whoever starts them. */
  follow(session: string, options: FollowSessionOptions = {}): SessionStream {
    return new SessionStream(this.#transport, `${PATH}/${encodeURIComponent(session)}/events`, options)
  }

  /** The conversation so far: the inputs of its runs, and their text and tool calls. */
  async messages(session: string, { signal }: RequestOptions = {}): Promise<readonly SessionMessage[]> {
    const view = new SessionView()
    let after: string | undefined
    // Bounded, because runs may write faster than this reads.
    for (let page = 0; page < PAGES_MAX; page++) {
      const { events, cursor, gap } = await this.#transport.json<EventsPage>({
        path: `${PATH}/${encodeURIComponent(session)}/events`,
        query: { after },
        signal,
        validate: (body) => Array.isArray(body['events']) && typeof body['cursor'] === 'string',
      })
      if (events.length === 0 && gap === undefined) break
      view.apply(events)
      after = cursor
    }
    return view.messages
  }

  get(session: string, options?: RequestOptions): Promise<SessionInfo> {
    return this.#request(session, {}, options)
  }

  rename(session: string, name: string, options?: RequestOptions): Promise<SessionInfo> {
    return this.#request(session, { method: 'PATCH', body: { name } }, options)
  }

  /** Removes a session with all its runs. Unfinished runs are stopped first. */
  delete(session: string, options?: RequestOptions): Promise<void> {
    return this.#request(session, REMOVAL, options)
  }

  /** Runs of one session, newest first. */
  runs(session: string, filter: Omit<RunFilter, 'session'> = {}, options?: RequestOptions): Promise<RunPage> {
    return this.#listRuns({ ...filter, session }, options)
  }

  #request<Body>(session: string, request: Partial<Request>, { signal }: RequestOptions = {}): Promise<Body> {
    const path = `${PATH}/${encodeURIComponent(session)}`
    return this.#transport.json<Body>({ path, signal, validate: ({ id }) => id === session, ...request })
  }
}
