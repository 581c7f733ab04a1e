/** One way to start a run in each protocol, and how its refusal looks. */
import type { ServiceError } from '@grpc/grpc-js'
import { status as codes } from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { until } from '../support/until.ts'
import { all, Peer } from './a2a/peer.ts'

export interface Served {
  readonly url: string
  readonly grpc: string
  readonly key: string
}

export interface Refusal {
  /** Of HTTP; undefined where the binding has none. */
  readonly status?: number
  /** In seconds; undefined if absent. */
  readonly retryAfter?: number
  /** Of the header that names the error to programs where the body is a text for people. */
  readonly code?: string
  /** The whole response. */
  readonly body: unknown
}

export interface Start {
  readonly text: string
  readonly stream: boolean
}

export type Way = (served: Served, start: Start) => Promise<Refusal>

let messages = 0
const messageId = (): string => `m-${++messages}`

/** Of a stream, only the first part. */
async function post({ url, key }: Served, path: string, init: RequestInit): Promise<Refusal> {
  const cut = new AbortController()
  const headers = { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) }
  const response = await fetch(url + path, { ...init, method: 'POST', headers, signal: cut.signal })
  const after = response.headers.get('retry-after')
  const streams = response.headers.get('content-type')?.includes('event-stream') === true
  const text = streams ? await firstOf(response, cut) : await response.text()
  const output = text.replace(/^data: /, '') // 0.3 refuses a stream on the stream
  const body: unknown = output.startsWith('{') ? JSON.parse(output) : text
  const code = response.headers.get('holdfast-error')
  return {
    status: response.status,
    ...(after !== null && { retryAfter: Number(after) }),
    ...(code !== null && { code }),
    body,
  }
}

async function firstOf(response: Response, cut: AbortController): Promise<string> {
  const { value } = await response.body!.pipeThrough(new TextDecoderStream()).getReader().read()
  cut.abort()
  return value ?? ''
}

function json(path: string, bodyOf: (start: Start) => unknown, headers: Record<string, string> = {}): Way {
  return (served, start) =>
    post(served, path, {
      body: JSON.stringify(bodyOf(start)),
      headers: { 'content-type': 'application/json', ...headers, ...(start.stream && { accept: 'text/event-stream' }) },
    })
}

const currentMessage = (text: string): object => ({ messageId: messageId(), role: 'ROLE_USER', parts: [{ text }] })
const legacyMessage = (text: string): object => ({
  kind: 'message',
  messageId: messageId(),
  role: 'user',
  parts: [{ kind: 'text', text }],
})
const legacyGrpcMessage = (text: string): object => ({
  messageId: messageId(),
  role: 'ROLE_USER',
  content: [{ text }],
})

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })

function rest(version: '1.0' | '0.3'): Way {
  return (served, start) => {
    const method = start.stream ? 'message:stream' : 'message:send'
    const [path, body] =
      version === '1.0'
        ? [`/a2a/lab/${method}`, { message: currentMessage(start.text), configuration: { returnImmediately: true } }]
        : [`/a2a/lab/v1/${method}`, { message: legacyGrpcMessage(start.text), configuration: { blocking: false } }]
    return json(path, () => body, { 'a2a-version': version })(served, start)
  }
}

function grpc(version: '1.0' | '0.3'): Way {
  return async ({ grpc: address, key }, { text, stream }) => {
    const peer = new Peer(address, version)
    const request =
      version === '1.0'
        ? { message: currentMessage(text), configuration: { returnImmediately: true } }
        : { message: legacyGrpcMessage(text), configuration: { blocking: false } }
    const metadata = { authorization: `Bearer ${key}` }
    try {
      const body = stream
        ? await all(peer.stream('SendStreamingMessage', request, metadata))
        : await peer.call('SendMessage', request, metadata)
      return { body }
    } catch (cause) {
      const { code, details, metadata: trailers } = cause as ServiceError
      const [after] = trailers.get('retry-after')
      return { body: { code: codes[code], details }, ...(after !== undefined && { retryAfter: Number(after) }) }
    }
  }
}

const socket: Way = async ({ url, key }, { text }) => {
  const opened = new WebSocket(`${url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => opened.terminate())
  const seen: Record<string, unknown>[] = []
  let closed: number | undefined
  opened.on('message', (data: Buffer) => seen.push(JSON.parse(data.toString()) as Record<string, unknown>))
  opened.on('close', (code: number) => (closed = code))
  opened.on('open', () => opened.send(JSON.stringify({ action: 'authenticate', token: key })))
  const authenticated = (): boolean => seen.some(({ event }) => event === 'authenticated')
  const refused = (): Record<string, unknown> | undefined => seen.find(({ event }) => event === 'error')
  await until('it is authenticated or refused', () => authenticated() || refused() !== undefined)
  const before = seen.length
  if (authenticated()) opened.send(JSON.stringify({ action: 'start-agent', agent_id: 'lab', message: text }))
  await until('it is answered', () => refused() !== undefined || seen.length > before || closed !== undefined)
  const body = refused() ?? seen[before] ?? { event: 'closed', code: closed }
  opened.terminate()
  const { retry_after: after } = body
  return { body, ...(typeof after === 'number' && { retryAfter: after }) }
}

/** Authenticated in its handshake, which is refused by HTTP. */
const chatSocket: Way = async ({ url, key }, { text }) => {
  const opened = new WebSocket(`${url.replace('http', 'ws')}/ai/lab/chat`, {
    headers: { authorization: `Bearer ${key}` },
  })
  onTestFinished(() => opened.terminate())
  opened.on('error', () => {}) // `close` follows
  const about = { type: 'send', requestId: 'r1', id: messageId(), trigger: 'submit-message', headers: {}, body: {} }
  const sent = { ...about, messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text }] }] }
  opened.on('open', () => opened.send(JSON.stringify(sent)))
  const answer = await new Promise<Refusal>((resolve) => {
    opened.on('unexpected-response', (_request, { statusCode = 0, headers }) =>
      resolve({
        status: statusCode,
        ...(headers['retry-after'] !== undefined && { retryAfter: Number(headers['retry-after']) }),
        body: '',
      }),
    )
    opened.on('message', (data: Buffer) => resolve({ body: JSON.parse(data.toString()) as unknown }))
    opened.on('close', (code) => resolve({ body: { type: 'closed', code } }))
  })
  opened.terminate()
  return answer
}

export const ways: Readonly<Record<string, Way>> = {
  native: json('/runs', ({ text }) => ({ component: 'lab', input: text })),
  'AgentOS REST': (served, { text, stream }) =>
    post(served, '/agents/lab/runs', {
      body: new URLSearchParams({ message: text, stream: String(stream), background: String(!stream) }),
    }),
  'AgentOS WebSocket': socket,
  'OpenAI chat completions': json('/v1/chat/completions', ({ text, stream }) => ({
    model: 'lab',
    messages: [{ role: 'user', content: text }],
    stream,
  })),
  'OpenAI Responses': json('/v1/responses', ({ text, stream }) => ({
    model: 'lab',
    input: text,
    stream,
    background: !stream,
  })),
  'AG-UI': json('/ag-ui/lab', ({ text }) => ({
    threadId: messageId(),
    runId: messageId(),
    messages: [{ id: 'm1', role: 'user', content: text }],
  })),
  MCP: json('/mcp', ({ text, stream }) =>
    rpc('tools/call', { name: 'lab', arguments: { input: text }, ...(!stream && { task: {} }) }),
  ),
  'AI SDK UI': json('/ai/lab/chat', ({ text }) => ({ messages: [{ role: 'user', parts: [{ type: 'text', text }] }] })),
  'AI SDK WebSocket': chatSocket,
  'A2A 1.0 JSON-RPC': json(
    '/a2a/lab',
    ({ text, stream }) =>
      rpc(stream ? 'SendStreamingMessage' : 'SendMessage', {
        message: currentMessage(text),
        configuration: { returnImmediately: true },
      }),
    { 'a2a-version': '1.0' },
  ),
  'A2A 0.3 JSON-RPC': json('/a2a/lab', ({ text, stream }) =>
    rpc(stream ? 'message/stream' : 'message/send', {
      message: legacyMessage(text),
      configuration: { blocking: false },
    }),
  ),
  'A2A 1.0 REST': rest('1.0'),
  'A2A 0.3 REST': rest('0.3'),
  'A2A 1.0 gRPC': grpc('1.0'),
  'A2A 0.3 gRPC': grpc('0.3'),
}
