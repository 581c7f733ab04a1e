/** Client of one Holdfast server, for browsers and any runtime with `fetch`. */
import type { OnProblem } from './backoff.ts'
import { follow, type Follow } from './follow.ts'
import { type EventsOptions, isRun, RunHandle, type RunStream, type StopOptions } from './run.ts'
import { openSharing } from './tabs/sharing.ts'
import { isFields, Transport, type TransportOptions } from './transport.ts'
import type {
  Abortable,
  Answers,
  ComponentInfo,
  RunFilter,
  RunInfo,
  RunPage,
  SessionFilter,
  SessionInfo,
  SessionPage,
  StartRequest,
} from './types.ts'

export interface ClientOptions extends TransportOptions {
  /**
   * Tabs of one browser share their connections to the same server. If `key` is a function, set this to a name for its
   * principal: only tabs with the same name share. `false`: every stream has its own connection.
   */
  readonly share?: string | false
}

export interface StartOptions extends Abortable {
  /** Repeating a request with the same key returns the same run. Default: a new key, so retries start one run only. */
  readonly idempotencyKey?: string
  /** Called when the request failed and will be retried, and with `undefined` when it has recovered. */
  readonly onProblem?: OnProblem
}

export interface Client {
  readonly components: Components
  readonly runs: Runs
  readonly sessions: Sessions
}

export function createClient(options: ClientOptions = {}): Client {
  const transport = new Transport(options)
  const runs = new Runs(
    transport,
    openSharing(transport, options.share) ?? ((position, given) => follow(transport, position, given)),
  )
  return { components: new Components(transport), runs, sessions: new Sessions(transport, runs) }
}

export class Components {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async list({ signal }: Abortable = {}): Promise<readonly ComponentInfo[]> {
    const { components } = await this.#transport.json<{ components: ComponentInfo[] }>({
      path: '/components',
      signal,
      answer: (body) => isListOf(body['components'], 'id'),
    })
    return components
  }
}

export class Runs {
  readonly #transport: Transport
  readonly #follow: Follow

  constructor(transport: Transport, how: Follow) {
    this.#transport = transport
    this.#follow = how
  }

  /** Starts a run. Retries after connection failures still start only one run. */
  async start(request: StartRequest, options: StartOptions = {}): Promise<RunHandle> {
    const { idempotencyKey = newKey(), signal, onProblem } = options
    const { id } = await this.#transport.json<RunInfo>({
      method: 'POST',
      path: '/runs',
      headers: { 'idempotency-key': idempotencyKey },
      body: request,
      signal,
      onProblem,
      answer: isRun,
    })
    return this.open(id)
  }

  /** Returns a handle for an existing run or for a share link, optionally at a saved cursor. Sends no request. */
  open(idOrLink: string, { after }: { readonly after?: number } = {}): RunHandle {
    const link = shareLinkIn(idOrLink)
    if (link === undefined) return new RunHandle(this.#transport, this.#follow, idOrLink, after)
    const transport = this.#transport.at(link.url, link.key)
    return new RunHandle(transport, (position, options) => follow(transport, position, options), link.run, after)
  }

  get(id: string, options?: Abortable): Promise<RunInfo> {
    return this.open(id).get(options)
  }

  list({ status, ...filter }: RunFilter = {}, { signal }: Abortable = {}): Promise<RunPage> {
    const statuses = status === undefined ? {} : { status: [status].flat().join(',') }
    return this.#transport.json<RunPage>({
      path: '/runs',
      query: { ...filter, ...statuses },
      signal,
      answer: ({ runs }) => Array.isArray(runs) && runs.every((run) => isFields(run) && isRun(run)),
    })
  }

  /** Events of a run from a cursor to its end. */
  stream(id: string, options?: EventsOptions): RunStream {
    return this.open(id).events(options)
  }

  stop(id: string, options?: StopOptions): Promise<RunInfo> {
    return this.open(id).stop(options)
  }

  answer(id: string, answers: Answers, options?: Abortable): Promise<RunInfo> {
    return this.open(id).answer(answers, options)
  }

  delete(id: string, options?: Abortable): Promise<void> {
    return this.open(id).delete(options)
  }
}

/** Server, run and token of a share link; undefined for anything else, such as an id. */
function shareLinkIn(text: string): { readonly url: string; readonly run: string; readonly key: string } | undefined {
  const address = /^https?:\/\//.test(text) ? URL.parse(text) : null
  const [, base = '', run] = /^(.*)\/runs\/([^/]+)\/events$/.exec(address?.pathname ?? '') ?? []
  const key = address?.searchParams.get('share') ?? undefined
  if (address === null) return undefined
  if (run === undefined || key === undefined)
    throw new TypeError('the URL is not a share link of a run: expected one that share() returned')
  return { url: address.origin + base, run: decodeURIComponent(run), key }
}

/** Sessions use the AgentOS wire format, which the server also speaks. */
interface SessionShape {
  readonly session_id: string
  readonly session_name: string
  readonly agent_id?: string
  readonly team_id?: string
  readonly workflow_id?: string
  readonly created_at: string
  readonly updated_at: string
}

export class Sessions {
  readonly #transport: Transport
  readonly #runs: Runs

  constructor(transport: Transport, runs: Runs) {
    this.#transport = transport
    this.#runs = runs
  }

  async list({ component, name, ...page }: SessionFilter = {}, { signal }: Abortable = {}): Promise<SessionPage> {
    const query = { ...page, component_id: component, session_name: name }
    const { data, meta } = await this.#transport.json<{ data: SessionShape[]; meta: { total_count: number } }>({
      path: '/sessions',
      query,
      signal,
      answer: (body) =>
        isListOf(body['data'], 'session_id') &&
        isFields(body['meta']) &&
        typeof body['meta']['total_count'] === 'number',
    })
    return { sessions: data.map(toSession), total: meta.total_count }
  }

  /** Deletes the session with all its runs; unfinished ones are stopped. */
  delete(session: string, { signal }: Abortable = {}): Promise<void> {
    const path = `/sessions/${encodeURIComponent(session)}`
    return this.#transport.json<void>({ method: 'DELETE', path, signal, answer: 'none', repeat: 'refused' })
  }

  /** Runs of one session, newest first. */
  runs(session: string, filter: Omit<RunFilter, 'session'> = {}, options?: Abortable): Promise<RunPage> {
    return this.#runs.list({ ...filter, session }, options)
  }
}

/** Whether it is a list of objects that have this name or id. */
function isListOf(value: unknown, name: string): boolean {
  return Array.isArray(value) && value.every((item) => isFields(item) && typeof item[name] === 'string')
}

function toSession(shape: SessionShape): SessionInfo {
  const component = shape.agent_id ?? shape.team_id ?? shape.workflow_id
  return {
    id: shape.session_id,
    name: shape.session_name,
    ...(component !== undefined && { component }),
    createdAt: shape.created_at,
    updatedAt: shape.updated_at,
  }
}

/** `randomUUID` is missing on pages without TLS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
