/** Small bodies that are expensive to parse: every POST route rejects them or handles them in short ticks. */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { createServer, type Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { longestTurnMs, threadCpuMs } from '../support/event-loop-stall.ts'

/**
 * No request may hold the event loop for longer than this many times what the runtime needs to parse WIDEST, the value that takes it
 * longest of those within the limits. Parsing is one piece, so that no request can do with less than 1.
 */
const TURN_MAX = 4
const WIDEST = 'wide objects'

const BYTES = 4_100_000

/** Fields of parts, items and tools. */
const FIELDS = ['type', 'role', 'text', 'url', 'filename', 'toolCallId', 'toolName', 'state', 'errorText', 'approval']
const wrongItem = JSON.stringify(Object.fromEntries(FIELDS.map((name) => [name, 1])))

/** Texts of JSON, each close to the largest body. */
const values: Readonly<Record<string, string>> = {
  'a million objects': `[${'{},'.repeat(BYTES / 3 - 50)}{}]`,
  'two million numbers': `[${'0,'.repeat(BYTES / 2 - 100)}0]`,
  'a million levels': '['.repeat(BYTES / 4) + ']'.repeat(BYTES / 4),
  'many names': `{${Array.from({ length: 300_000 }, (_, index) => `"${index}":0`).join(',')}}`,
  'wrong items, as many as are read': `[${'{},'.repeat(40_000)}{}]`,
  'items with many wrong fields': `[${Array.from({ length: 8000 }, () => wrongItem).join(',')}]`,
  'wide objects': `[${Array.from({ length: 9 }, (_, index) => wideObject(`${index}`)).join(',')}]`,
  'long names': wideObject('x'.repeat(400)),
  'long texts': JSON.stringify(Array.from({ length: 900 }, () => 'x'.repeat(4000))),
  'escaped quotes': JSON.stringify('"'.repeat(BYTES / 2 - 200)),
}

/** With as many members as are read. */
function wideObject(prefix: string): string {
  return `{${Array.from({ length: 9999 }, (_, index) => `"${prefix}-${index}":0`).join(',')}}`
}

interface Place {
  readonly path: string
  readonly field: string
  readonly body: (value: string) => string
}

/** Where a value can be in the body of each route. */
const places: readonly Place[] = [
  { path: '/runs', field: 'input', body: (value) => `{"component":"lab","input":${value}}` },
  { path: '/runs', field: 'metadata', body: (value) => `{"component":"lab","input":"text 1","metadata":${value}}` },
  { path: '/runs/none/answers', field: 'answers', body: (value) => `{"answers":{"a":${value}}}` },
  { path: '/runs/none/stop', field: 'reason', body: (value) => `{"reason":${value}}` },
  { path: '/v1/chat/completions', field: 'messages', body: (value) => `{"model":"lab","messages":${value}}` },
  {
    path: '/v1/chat/completions',
    field: 'content',
    body: (value) => `{"model":"lab","messages":[{"role":"user","content":${value}}]}`,
  },
  {
    path: '/v1/chat/completions',
    field: 'tools',
    body: (value) => `{"model":"lab","messages":[{"role":"user","content":"text 1"}],"tools":${value}}`,
  },
  { path: '/v1/responses', field: 'input', body: (value) => `{"model":"lab","input":${value}}` },
  {
    path: '/v1/responses',
    field: 'content',
    body: (value) => `{"model":"lab","input":[{"role":"user","content":${value}}]}`,
  },
  { path: '/v1/responses', field: 'tools', body: (value) => `{"model":"lab","input":"text 1","tools":${value}}` },
  { path: '/v1/conversations', field: 'items', body: (value) => `{"items":${value}}` },
  { path: '/v1/conversations', field: 'metadata', body: (value) => `{"metadata":${value}}` },
  { path: '/v1/conversations/none/items', field: 'items', body: (value) => `{"items":${value}}` },
  {
    path: '/a2a/lab',
    field: 'parts',
    body: (value) =>
      `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":${value}}}}`,
  },
  {
    path: '/a2a/lab/message:send',
    field: 'parts',
    body: (value) => `{"message":{"messageId":"m","role":"ROLE_USER","parts":${value}}}`,
  },
  {
    path: '/agents/lab/runs',
    field: 'session_state',
    body: (value) => `{"message":"text 1","stream":"false","session_state":${value}}`,
  },
  {
    path: '/agents/lab/runs',
    field: 'images',
    body: (value) => `{"message":"text 1","stream":"false","images":${value}}`,
  },
  { path: '/agents/lab/runs/none/continue', field: 'tools', body: (value) => `{"tools":${value}}` },
  {
    path: '/ag-ui/lab',
    field: 'messages',
    body: (value) => `{"threadId":"t","runId":"r","messages":${value}}`,
  },
  {
    path: '/ag-ui/lab',
    field: 'content',
    body: (value) => `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":${value}}]}`,
  },
  {
    path: '/mcp',
    field: 'arguments',
    body: (value) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lab","arguments":{"input":${value}},"task":{}}}`,
  },
  {
    path: '/mcp',
    field: 'inputResponses',
    body: (value) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lab","inputResponses":${value}}}`,
  },
  ...['tools', 'context', 'state', 'forwardedProps', 'resume'].map((field): Place => ({
    path: '/ag-ui/lab',
    field,
    body: (value) =>
      `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"text 1"}],"${field}":${value}}`,
  })),
  { path: '/ai/lab/chat', field: 'messages', body: (value) => `{"messages":${value}}` },
  {
    path: '/ai/lab/chat',
    field: 'parts',
    body: (value) => `{"messages":[{"role":"user","parts":${value}}]}`,
  },
  {
    path: '/ai/lab/chat',
    field: 'data',
    body: (value) => `{"messages":[{"role":"user","parts":[{"type":"data-x","data":${value}}]}]}`,
  },
  { path: '/ai/lab/chat/none/stop', field: 'activeStreamId', body: (value) => `{"activeStreamId":${value}}` },
  { path: '/v1/stream/hostile', field: 'messages', body: (value) => value },
  {
    path: '/v1/stream/__ds/subscriptions/hostile/streams',
    field: 'streams',
    body: (value) => `{"streams":${value}}`,
  },
  {
    path: '/v1/stream/__ds/subscriptions/hostile/claim',
    field: 'worker',
    body: (value) => `{"worker":${value}}`,
  },
  { path: '/sessions', field: 'session_state', body: (value) => `{"session_name":"x","session_state":${value}}` },
]

let server: Server
let turnMsMax: number

beforeAll(async () => {
  server = await createServer({
    components: labComponents(),
    store: createMemoryStore(),
    limits: { drainTimeoutMs: 0 },
  })
  const type = { 'content-type': 'application/json' }
  await fetch(`${server.url}/v1/stream/hostile`, { method: 'PUT', headers: type })
  // What is loaded and compiled by the first request is not what is measured.
  for (const { path, body } of places) for (const value of ['[{}]', '"text 1"']) await post(path, body(value))
  turnMsMax = TURN_MAX * parsingMs(values[WIDEST]!)
})

afterAll(() => server.close())

/** CPU milliseconds of the longest of three times. */
function parsingMs(text: string): number {
  const times = Array.from({ length: 3 }, () => {
    const before = threadCpuMs()
    JSON.parse(text)
    return threadCpuMs() - before
  })
  return Math.max(...times)
}

async function post(path: string, body: string, type = 'application/json'): Promise<number> {
  const response = await fetch(server.url + path, { method: 'POST', headers: { 'content-type': type }, body })
  await response.arrayBuffer()
  return response.status
}

describe.each(places)('[SEC-2] POST $path with $field of', ({ path, body: bodyWith }) => {
  test.each(Object.keys(values))('%s does not block the event loop', async (name) => {
    const body = bodyWith(values[name]!)
    let status = 0
    const longest = await longestTurnMs(async () => (status = await post(path, body)))
    expect(status).toBeLessThan(500)
    expect(longest).toBeLessThan(turnMsMax)
  })
})

describe('[SEC-2] POST /agents/lab/runs', () => {
  const boundary = '\r\n--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n'
  test.each([
    ['a form of many fields', 'application/x-www-form-urlencoded', 'a=&'.repeat(BYTES / 3)],
    ['a multipart form of many parts', 'multipart/form-data; boundary=b', boundary.repeat(BYTES / boundary.length)],
  ])('a request with %s is rejected without blocking the event loop', async (_name, type, body) => {
    let status = 0
    const longest = await longestTurnMs(async () => (status = await post('/agents/lab/runs', body, type)))
    expect(status).toBe(413)
    expect(longest).toBeLessThan(turnMsMax)
  })

  const part = (headers: string): string => `--b\r\n${headers}\r\n\r\ntext 1\r\n--b--\r\n`
  const disposition = 'content-disposition: form-data; name="message"'
  test.each([
    ['a field of spaces', 'application/x-www-form-urlencoded', `message=${'+'.repeat(BYTES)}`, 400],
    [
      'a part of many headers',
      'multipart/form-data; boundary=b',
      part(`${'a: b\r\n'.repeat(BYTES / 6)}${disposition}`),
      413,
    ],
    [
      'a header of many parameters',
      'multipart/form-data; boundary="b"',
      part(`${disposition}${'; a=b'.repeat(BYTES / 5)}`),
      413,
    ],
    ['headers that do not end', 'multipart/form-data; x=y; Boundary=b', `--b\r\n${'a: b\r\n'.repeat(BYTES / 6)}`, 413],
    ['a boundary that cannot be read', 'multipart/form-data; boundary="b\\"', part('a: b\r\n'.repeat(BYTES / 6)), 400],
  ])('a request with %s does not block the event loop', async (_name, type, body, expected) => {
    let status = 0
    const longest = await longestTurnMs(async () => (status = await post('/agents/lab/runs', body, type)))
    expect(status).toBe(expected)
    expect(longest).toBeLessThan(turnMsMax)
  })

  test.each(Object.keys(values))('a form field with JSON, %s, does not block the event loop', async (name) => {
    const form = `message=text+1&session_state=${encodeURIComponent(values[name]!.slice(0, 1_300_000))}`
    const type = 'application/x-www-form-urlencoded'
    let status = 0
    const longest = await longestTurnMs(async () => (status = await post('/agents/lab/runs', form, type)))
    expect(status).toBeLessThan(500)
    expect(longest).toBeLessThan(turnMsMax)
  })
})

const sockets: Readonly<Record<string, (value: string) => string>> = {
  '/agents/ws': (value) => `{"action":"start-agent","agent_id":"lab","message":"text 1","session_state":${value}}`,
  '/ai/lab/chat': (value) =>
    `{"type":"send","requestId":"r","id":"c","trigger":"submit-message","headers":{},"body":{},"messages":${value}}`,
}

describe.each(Object.entries(sockets))('[SEC-2] a WebSocket message to %s with', (path, messageWith) => {
  test.each(Object.keys(values))('%s does not block the event loop', async (name) => {
    let answer = ''
    const longest = await longestTurnMs(async () => (answer = await socketSays(path, messageWith(values[name]!))))
    expect(answer).toMatch(/error|closed 1008|auth/)
    expect(answer).not.toContain('internal')
    expect(longest).toBeLessThan(turnMsMax)
  })
})

/** The first answer to a message, or how the connection is closed. */
async function socketSays(path: string, message: string): Promise<string> {
  const socket = new WebSocket(server.url.replace('http', 'ws') + path)
  const closed = new Promise<string>((resolve) => socket.once('close', (code) => resolve(`closed ${code}`)))
  await once(socket, path === '/agents/ws' ? 'message' : 'open')
  const answer = new Promise<string>((resolve) => socket.once('message', (data: Buffer) => resolve(data.toString())))
  socket.send(message)
  const output = await Promise.race([answer, closed])
  socket.terminate()
  return output
}
