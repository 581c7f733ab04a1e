/** Starts a run through any protocol, as its clients do, and finds it in any other. */
import { expect } from 'vitest'
import { EventParser, type ParsedEvent } from '../../src/sse/index.ts'
import { call, type Target } from '../support/http.ts'

export interface ProtocolLink {
  readonly protocol: string
  readonly id: string
  readonly session: string
  readonly resume: { readonly url: string; readonly headers?: Record<string, string> }
}

export interface WantedRun {
  readonly component: string
  readonly input: string
  readonly session: string
}

export const A2A_HEADERS = { 'a2a-version': '1.0' }

/** Each starts a run and disconnects. */
export const starts: ReadonlyMap<string, (target: Target, wanted: WantedRun) => Promise<unknown>> = new Map(
  Object.entries({
    native: (target: Target, wanted: WantedRun) => call(target, 'POST', '/runs', { body: wanted }),
    agentos: ({ url }, { component, input, session }) =>
      leave(`${url}/agents/${component}/runs`, {
        method: 'POST',
        body: form({ message: input, session_id: session, stream: 'true' }),
      }),
    openai: ({ url }, { component, input }) =>
      leave(`${url}/v1/responses`, json({ model: component, input, background: true, stream: true })),
    a2a: ({ url }, { component, input }) =>
      leave(`${url}/a2a/${component}/message:stream`, {
        ...json({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: input }] } }),
        headers: { 'content-type': 'application/json', ...A2A_HEADERS },
      }),
    'ai-sdk': ({ url }, { component, input, session }) => {
      const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: input }] }
      return leave(`${url}/ai/${component}/chat`, json({ id: session, messages: [message] }))
    },
    'ag-ui': ({ url }, { component, input, session }) => {
      const messages = [{ id: 'u1', role: 'user', content: input }]
      return leave(`${url}/ag-ui/${component}`, json({ threadId: session, runId: crypto.randomUUID(), messages }))
    },
    mcp: ({ url }, { component, input, session }) => {
      const params = { name: component, arguments: { input }, _meta: { 'holdfast/session': session } }
      return leave(`${url}/mcp`, json(rpc('tools/call', params)))
    },
  } satisfies Record<string, (target: Target, wanted: WantedRun) => Promise<unknown>>),
)

export function json(body: object): RequestInit {
  return { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

/** A request of MCP. */
export function rpc(method: string, params: object): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}

export function form(fields: Readonly<Record<string, string>>): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.set(name, value)
  return data
}

/** Sends a request and disconnects as soon as its stream has started. */
export async function leave(url: string, init: RequestInit): Promise<void> {
  const response = await fetch(url, init)
  expect(response.status, url).toBe(200)
  const reader = response.body!.getReader()
  await reader.read()
  await reader.cancel()
}

/** The run that was started last, and the protocol that it came through. */
export async function newestRun(target: Target): Promise<{ id: string; protocol: string; session: string }> {
  const { body } = await call<{ runs: { id: string; protocol: string; session: string }[] }>(
    target,
    'GET',
    '/runs?limit=1',
  )
  return body.runs[0]!
}

/** The name of a run in another protocol. It resumes before the first event: the stream has everything. */
export async function linkTo(target: Target, run: string, protocol: string): Promise<ProtocolLink> {
  const { body } = await call<{ links: ProtocolLink[] }>(
    target,
    'GET',
    `/runs/${run}/links?protocol=native&position=-1`,
  )
  return body.links.find((each) => each.protocol === protocol)!
}

export function framesIn(body: string): readonly ParsedEvent[] {
  const frames: ParsedEvent[] = []
  new EventParser({ event: (frame) => frames.push(frame) }).push(body)
  return frames
}
