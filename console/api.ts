/** Server requests beyond the public client: the live run list, server status, and protocol frames. */
import { ApiError, ClientError, type RunStatus } from 'holdfast/client'
import { a2aPath, consolePath } from './mount-point.ts'
import type { Session } from './session.ts'

export interface RunRow {
  readonly id: string
  readonly component: string
  readonly session: string
  readonly status: RunStatus
  readonly createdAt: string
  readonly startedAt?: string
  readonly finishedAt?: string
  readonly attempt: number
  readonly protocol?: string
  readonly events: number
  readonly tokens?: number
}

export interface RunRows {
  readonly version: string
  readonly runs: readonly RunRow[]
  readonly cursor?: string
  /** For a search: runs examined so far, and the creation time of the oldest. */
  readonly searched?: { readonly runs: number; readonly backTo?: string }
}

export interface ServerReport {
  readonly version: string
  readonly auth: string
  readonly ok: boolean
  readonly draining: boolean
  readonly store: { readonly name: string; readonly ok: boolean; readonly reason?: string }
  readonly load: {
    readonly running: number
    readonly subscribers: number
    readonly streams: number
    /** Lag of the slowest subscriber, in events. */
    readonly lag: number
    /** Runs of dead workers since the server started: recovered, and failed. */
    readonly recovered: number
    readonly failed: number
    /** Unfinished runs without a worker. */
    readonly orphaned: { readonly count: number; readonly more: boolean }
  }
  /** A supervisor restarts the process when it is killed. */
  readonly supervised: boolean
  /** Webhooks that exhausted their retries. */
  readonly deadLetters: number
  readonly process: {
    readonly pid: number
    readonly node: string
    readonly uptimeMs: number
    readonly rss: number
    readonly heapUsed: number
  }
  readonly limits: Readonly<Record<string, number>>
  readonly views: readonly { readonly id: string; readonly title: string }[]
  /** Only of a gateway. */
  readonly upstreams?: readonly UpstreamReport[]
}

export interface UpstreamReport {
  readonly name: string
  readonly url: string
  readonly status: 'unknown' | 'ok' | 'unreachable' | 'conflict'
  readonly components: number
  readonly since: string
  readonly error?: string
  readonly load?: { readonly circuit: string; readonly running: number; readonly queued: number }
}

/** A webhook that exhausted its retries, as listed by the A2A protocol. */
export interface DeadLetter {
  readonly taskId: string
  readonly configId: string
  readonly attempts: number
  readonly error?: string
  readonly since: string
}

export interface Frames {
  readonly text: string
  /** The list is complete; otherwise there are too many to show. */
  readonly whole: boolean
}

export async function readRuns(
  session: Session,
  query: string,
  known: string | undefined,
  signal: AbortSignal,
): Promise<RunRows> {
  const search = new URLSearchParams(query)
  if (known !== undefined) search.set('known', known)
  return (await (await ask(session, `${consolePath}/api/runs?${search}`, signal)).json()) as RunRows
}

export async function readServer(session: Session, signal: AbortSignal): Promise<ServerReport> {
  return (await (await ask(session, `${consolePath}/api/server`, signal)).json()) as ServerReport
}

export async function readFrames(session: Session, run: string, view: string, signal: AbortSignal): Promise<Frames> {
  const path = `${consolePath}/api/runs/${encodeURIComponent(run)}/frames?as=${encodeURIComponent(view)}`
  const response = await ask(session, path, signal)
  return { text: await response.text(), whole: response.headers.get('holdfast-whole') !== 'false' }
}

/** The oldest dead letters. */
export async function readDeadLetters(session: Session, signal: AbortSignal): Promise<readonly DeadLetter[]> {
  const { deadLetters } = (await (await ask(session, `${a2aPath}/dead-letters`, signal)).json()) as {
    deadLetters: readonly DeadLetter[]
  }
  return deadLetters
}

export async function retryDeadLetter(session: Session, letter: DeadLetter, signal: AbortSignal): Promise<void> {
  const [task, config] = [letter.taskId, letter.configId].map(encodeURIComponent)
  await ask(session, `${a2aPath}/dead-letters/${task}/${config}/retry`, signal, 'POST')
}

async function ask({ connection, key }: Session, path: string, signal: AbortSignal, method = 'GET'): Promise<Response> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const response = await connection
    .fetch(path, { method, headers, signal, cache: 'no-store' })
    .catch((cause: unknown) => {
      if (signal.aborted) throw cause
      throw new ClientError('The server did not respond.', { code: 'connection', retryable: true })
    })
  if (response.ok) return response
  const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string; retryable?: boolean }
  const {
    code = `http_${response.status}`,
    detail = `the server answered with status ${response.status}`,
    retryable = false,
  } = problem
  throw new ApiError(detail, { code, retryable, status: response.status })
}
