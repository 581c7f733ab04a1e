/** A minimal client of the native protocol. */
import { EventParser } from '../../src/sse/index.ts'
import type { RunShape } from '../../src/protocols/native/wire/shapes.ts'
import { EventStream, type EventStreamOptions } from './event-stream.ts'
import { until } from './until.ts'

export interface Target {
  readonly url: string
  /** API key. */
  readonly token?: string
}

export interface Answer<Body = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

export interface CallOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export async function call<Body = Record<string, unknown>>(
  target: Target,
  method: string,
  path: string,
  { body, headers = {} }: CallOptions = {},
): Promise<Answer<Body>> {
  const response = await fetch(target.url + path, {
    method,
    headers: { ...credential(target), ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : text) as Body }
}

export interface StartOptions {
  readonly component?: string
  readonly key?: string
  readonly session?: string
}

export function postRun(
  target: Target,
  input: string,
  { component = 'lab', key, session }: StartOptions = {},
): Promise<Answer<RunShape>> {
  return call<RunShape>(target, 'POST', '/runs', {
    body: { component, input, ...(session !== undefined && { session }) },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  })
}

export async function startRun(target: Target, input: string, options: StartOptions = {}): Promise<RunShape> {
  return accepted(await postRun(target, input, options))
}

export async function getRun(target: Target, id: string): Promise<RunShape> {
  return accepted(await call<RunShape>(target, 'GET', `/runs/${id}`))
}

/** Id of the one run that a server has, or has with a status. */
export async function onlyRun(target: Target, status?: RunShape['status']): Promise<string> {
  const query = status === undefined ? '' : `?status=${status}`
  const { runs } = (await call<{ runs: RunShape[] }>(target, 'GET', `/runs${query}`)).body
  if (runs.length !== 1) throw new Error(`there are ${runs.length} such runs`)
  return runs[0]!.id
}

/** Requests a stop; waits up to `waitMs` for the end. */
export async function stopRun(target: Target, id: string, waitMs = 0): Promise<RunShape> {
  return accepted(await call<RunShape>(target, 'POST', `/runs/${id}/stop${waitMs > 0 ? `?wait=${waitMs}` : ''}`))
}

/** Answers the one question of a paused run. */
export async function answerRun(target: Target, id: string, answer: unknown): Promise<RunShape> {
  return accepted(await call<RunShape>(target, 'POST', `/runs/${id}/answers`, { body: { answer } }))
}

export interface FollowOptions extends Pick<EventStreamOptions, 'cutAfter' | 'stalled' | 'restMs'> {
  readonly after?: number
  /** How the cursor is sent. */
  readonly by?: 'header' | 'query'
}

export function followRun(
  target: Target,
  id: string,
  { after, by = 'header', ...options }: FollowOptions = {},
): EventStream {
  const query = after !== undefined && by === 'query' ? `?after=${after}` : ''
  const header = after !== undefined && by === 'header' ? { 'last-event-id': String(after) } : {}
  return new EventStream(`${target.url}/runs/${id}/events${query}`, {
    headers: { ...credential(target), ...header },
    ...options,
  })
}

/** The complete log of a run, followed to its end. */
export async function readLog(target: Target, id: string): Promise<Buffer> {
  const stream = followRun(target, id)
  const end = await stream.ended
  if (end !== 'closed' || (await stream.status()) !== 200)
    throw new Error(`run ${id}: the stream ended with ${await stream.status()}, ${end}`)
  return stream.log
}

export interface SeenEvent {
  readonly index: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Parses stream bytes like our client. */
export function eventsIn(bytes: Buffer): SeenEvent[] {
  const events: SeenEvent[] = []
  new EventParser({ event: ({ data }) => events.push(JSON.parse(data) as SeenEvent) }).push(bytes.toString())
  return events
}

export async function readEvents(target: Target, id: string): Promise<SeenEvent[]> {
  return eventsIn(await readLog(target, id))
}

export const FINISHED: readonly string[] = ['completed', 'failed', 'cancelled', 'rejected']

export function untilStatus(
  target: Target,
  id: string,
  statuses: readonly string[],
  withinMs = 60_000,
): Promise<RunShape> {
  const look = async (): Promise<RunShape | false> => {
    const run = await getRun(target, id)
    return statuses.includes(run.status) && run
  }
  return until(`run ${id} is ${statuses.join(' or ')}`, look, { withinMs })
}

export function untilFinished(target: Target, id: string, withinMs?: number): Promise<RunShape> {
  return untilStatus(target, id, FINISHED, withinMs)
}

function credential({ token }: Target): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

function accepted<Body>({ status, body }: Answer<Body>): Body {
  if (status >= 300) throw new Error(`answered with ${status}: ${JSON.stringify(body)}`)
  return body
}
