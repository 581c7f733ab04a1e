/** Client of one Holdfast server, for browsers and any runtime with `fetch`. */
import type { OnProblem } from './backoff.ts'
import { follow, type Follow } from './follow.ts'
import { type EventsOptions, isRun, RunHandle, type RunStream, type StopOptions } from './run.ts'
import { Sessions } from './sessions.ts'
import { openSharing } from './tabs/sharing.ts'
import { hasId, isListOf, Transport, type TransportOptions } from './transport.ts'
import type { RequestOptions, Answers, ComponentInfo, RunFilter, RunInfo, RunPage, StartRequest } from './types.ts'

/** Options of `createClient`. */
export interface ClientOptions extends TransportOptions {
  /**
   * Tabs of one browser with the same `key` share their connections to the same server. If `key` is a function or there are `headers`,
   * set this to a name for their principal: only tabs with the same name share. `false`: every stream has its own connection.
   * Default: true.
   */
  readonly shareConnections?: boolean | { readonly name: string }
}

/** Options of `runs.start`. */
export interface StartOptions extends RequestOptions {
  /** Repeating a request with the same key returns the same run. Default: a new key, so retries start one run only. */
  readonly idempotencyKey?: string
  /** Called when the request failed and will be retried, and with `undefined` when it has recovered. Default: only `onProblem` of the client is called. */
  readonly onProblem?: OnProblem
}

/** Client of one server, created by `createClient`. */
export interface Client {
  readonly components: Components
  readonly runs: Runs
  readonly sessions: Sessions
}

/**
 * Creates a client of one server, for browsers and any runtime with `fetch`. Sends no request.
 *
 * @example
 * ```ts
 * const client = createClient({ url: 'http://localhost:7777' })
 * const run = await client.runs.start({ component: 'storyteller', input: 'Tell me a story.' })
 * for await (const text of run.text()) process.stdout.write(text)
 * ```
 */
export function createClient(options: ClientOptions = {}): Client {
  const transport = new Transport(options)
  const runs = new Runs(
    transport,
    openSharing(transport, options.shareConnections) ?? ((position, given) => follow(transport, position, given)),
  )
  return {
    components: new Components(transport),
    runs,
    sessions: new Sessions(
      transport,
      (filter, given) => runs.list(filter, given),
      (run) => runs.open(run),
    ),
  }
}

/** The components of a server: `client.components`. */
export class Components {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async list({ signal }: RequestOptions = {}): Promise<readonly ComponentInfo[]> {
    const { components } = await this.#transport.json<{ components: ComponentInfo[] }>({
      path: '/components',
      signal,
      validate: (body) => isListOf(body['components'], hasId),
    })
    return components
  }
}

/** The runs of a server: `client.runs`. */
export class Runs {
  readonly #transport: Transport
  readonly #follow: Follow

  constructor(transport: Transport, followLog: Follow) {
    this.#transport = transport
    this.#follow = followLog
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
      validate: isRun,
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

  get(id: string, options?: RequestOptions): Promise<RunInfo> {
    return this.open(id).get(options)
  }

  list({ status, ...filter }: RunFilter = {}, { signal }: RequestOptions = {}): Promise<RunPage> {
    return this.#transport.json<RunPage>({
      path: '/runs',
      query: { ...filter, status: status && [status].flat().join(',') },
      signal,
      validate: ({ runs }) => isListOf(runs, isRun),
    })
  }

  /** Events of a run from a cursor to its end. */
  events(id: string, options?: EventsOptions): RunStream {
    return this.open(id).events(options)
  }

  stop(id: string, options?: StopOptions): Promise<RunInfo> {
    return this.open(id).stop(options)
  }

  answer(id: string, answers: Answers, options?: RequestOptions): Promise<RunInfo> {
    return this.open(id).answer(answers, options)
  }

  delete(id: string, options?: RequestOptions): Promise<void> {
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

/** `randomUUID` does not exist on pages without TLS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
