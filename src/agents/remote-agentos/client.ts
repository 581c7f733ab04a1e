/** AgentOS calls that a run needs: forms in, server-sent events and JSON out. */
import { WorkError } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import { type HeaderSource, headersFrom } from '../../client/header-source.ts'
import { eventsOf, readJson, RemoteError, request, requestOk } from '../shared/remote.ts'
import { type FormFields, formOf, type RemoteInput } from './forwarded.ts'
import type { RemoteEvent, RemoteRun } from './wire.ts'

export type RemoteAgentOsKind = 'agent' | 'team' | 'workflow'

export interface ClientOptions {
  readonly url: string
  readonly kind: RemoteAgentOsKind
  readonly component: string
  readonly headers: HeaderSource
  readonly signal: AbortSignal
  readonly requestTimeoutMs: number
  readonly idleTimeoutMs: number
}

export interface RunIds {
  readonly run: string
  readonly session: string
}

/** Timeout of requests for the state of a run: a live server responds to them immediately. */
const REATTACH_TIMEOUT_MS = 5000

export class AgentOsClient {
  readonly #options: ClientOptions
  readonly #runs: string

  constructor(options: ClientOptions) {
    this.#options = options
    const { url, kind, component } = options
    this.#runs = `${url.replace(/\/+$/, '')}/${kind}s/${encodeURIComponent(component)}/runs`
  }

  /** Starts a run with Holdfast's own id. If the server assigns ids itself, an idempotency key lets it recognize a repeated start. */
  async *start(
    ids: RunIds,
    { message, files }: RemoteInput,
    fields: FormFields,
  ): AsyncGenerator<RemoteEvent, void, void> {
    const asked = { ...fields, message, session_id: ids.session, stream: 'true' }
    const key = { 'idempotency-key': ids.run }
    try {
      yield* this.#stream(this.#runs, formOf({ ...asked, run_id: ids.run }, files), key)
    } catch (thrown) {
      if (!refusesRunId(thrown)) throw thrown
      yield* this.#stream(this.#runs, formOf(asked, files), key)
    }
  }

  /** Events after an index. Default: all. */
  resume({ run, session }: RunIds, after: number | undefined): AsyncGenerator<RemoteEvent, void, void> {
    const fields = { session_id: session, ...(after !== undefined && { last_event_index: String(after) }) }
    return this.#stream(this.#of(run, '/resume'), new URLSearchParams(fields), {}, REATTACH_TIMEOUT_MS)
  }

  continue({ run, session }: RunIds, fields: FormFields): AsyncGenerator<RemoteEvent, void, void> {
    const asked = { ...fields, session_id: session, stream: 'true' }
    return this.#stream(this.#of(run, '/continue'), new URLSearchParams(asked))
  }

  /** The stored run; undefined if unknown. */
  async get({ run, session }: RunIds): Promise<RemoteRun | undefined> {
    const { headers, signal, requestTimeoutMs } = this.#options
    const timeoutMs = Math.min(requestTimeoutMs, REATTACH_TIMEOUT_MS)
    const url = `${this.#of(run)}?${new URLSearchParams({ session_id: session })}`
    const response = await request({ url, headers: await headersFrom(headers), signal, timeoutMs })
    if (response.status === 404) return undefined
    if (!response.ok)
      throw new RemoteError(`cannot read the remote run: the server responded with status ${response.status}`, {
        code: 'upstream_http_error',
        status: response.status,
      })
    return (await readJson(response)) as RemoteRun
  }

  /** Uses its own signal: the run's is already aborted. */
  async cancel({ run, session }: RunIds): Promise<void> {
    const { headers, requestTimeoutMs: timeoutMs } = this.#options
    const url = `${this.#of(run, '/cancel')}?${new URLSearchParams({ session_id: session })}`
    const signal = AbortSignal.timeout(timeoutMs)
    await requestOk({ url, method: 'POST', headers: await headersFrom(headers), signal, timeoutMs })
  }

  #of(run: string, path = ''): string {
    return `${this.#runs}/${encodeURIComponent(run)}${path}`
  }

  async *#stream(
    url: string,
    body: URLSearchParams | FormData,
    more: Readonly<Record<string, string>> = {},
    maxTimeoutMs = Infinity,
  ): AsyncGenerator<RemoteEvent, void, void> {
    const { signal, requestTimeoutMs, idleTimeoutMs } = this.#options
    const headers = { ...(await headersFrom(this.#options.headers)), ...more }
    const timeoutMs = Math.min(requestTimeoutMs, maxTimeoutMs)
    const response = await requestOk({ url, method: 'POST', headers, body, signal, timeoutMs })
    for await (const { data } of eventsOf(response, idleTimeoutMs)) yield parse(data)
  }
}

/** Whether the server refused the run id: nothing was started then. */
function refusesRunId(thrown: unknown): boolean {
  if (!(thrown instanceof WorkError)) return false
  const { status } = (thrown.failure.details ?? {}) as { status?: unknown }
  return (status === 400 || status === 422) && thrown.message.includes('run_id')
}

function parse(data: string): RemoteEvent {
  let parsed: unknown
  try {
    parsed = JSON.parse(data)
  } catch (thrown) {
    throw violation(`an event that is not JSON (${messageOf(thrown)})`)
  }
  if (typeof (parsed as Partial<RemoteEvent> | null)?.event !== 'string') throw violation('an event without a name')
  return parsed as RemoteEvent
}

function violation(what: string): WorkError {
  return new WorkError({ code: 'upstream_protocol_error', message: `the remote server sent ${what}` })
}
