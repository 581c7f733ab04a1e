/** One run, every protocol: started in one, followed and stopped in any other. The native log is the judge. */
import { expect, test } from 'vitest'
import { EventParser, type ParsedEvent } from '../../src/sse/index.ts'
import { call, readEvents, untilFinished } from '../support/http.ts'
import { type NativeServer, serveNative } from './native/serve.ts'

interface Link {
  readonly protocol: string
  readonly id: string
  readonly session: string
  readonly resume: { readonly url: string; readonly headers?: Record<string, string> }
}

const SCRIPT = 'text 3; hang'
const A2A = { 'a2a-version': '1.0' }

/** Starts a run, disconnects, and returns the native id, which every protocol names in a header or can be asked for by session. */
const starts: Readonly<Record<string, (server: NativeServer, session: string) => Promise<unknown>>> = {
  native: (server, session) => call(server, 'POST', '/runs', { body: { component: 'lab', input: SCRIPT, session } }),
  agentos: (server, session) => {
    const form = new FormData()
    for (const [name, value] of Object.entries({ message: SCRIPT, session_id: session, stream: 'true' }))
      form.set(name, value)
    return leave(`${server.url}/agents/lab/runs`, { method: 'POST', body: form })
  },
  openai: (server) =>
    leave(`${server.url}/v1/responses`, json({ model: 'lab', input: SCRIPT, background: true, stream: true })),
  a2a: (server) =>
    leave(`${server.url}/a2a/lab/message:stream`, {
      ...json({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: SCRIPT }] } }),
      headers: { 'content-type': 'application/json', ...A2A },
    }),
  'ai-sdk': (server, session) => {
    const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: SCRIPT }] }
    return leave(`${server.url}/ai/lab/chat`, json({ id: session, messages: [message] }))
  },
  'ag-ui': (server, session) => {
    const messages = [{ id: 'u1', role: 'user', content: SCRIPT }]
    return leave(`${server.url}/ag-ui/lab`, json({ threadId: session, runId: crypto.randomUUID(), messages }))
  },
  mcp: (server) => leave(`${server.url}/mcp`, json(tool('tools/call', { name: 'lab', arguments: { input: SCRIPT } }))),
}

function tool(method: string, params: object): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}

function json(body: object): RequestInit {
  return { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

/** Sends a request and disconnects as soon as its stream has begun. */
async function leave(url: string, init: RequestInit): Promise<void> {
  const response = await fetch(url, init)
  expect(response.status, url).toBe(200)
  const reader = response.body!.getReader()
  await reader.read()
  await reader.cancel()
}

const stops: Readonly<Record<string, (server: NativeServer, run: string, link: Link) => Promise<unknown>>> = {
  native: (server, run) => call(server, 'POST', `/runs/${run}/stop`),
  agentos: (server, run) => call(server, 'POST', `/agents/lab/runs/${run}/cancel`),
  openai: (server, _run, { id }) => call(server, 'POST', `/v1/responses/${id}/cancel`),
  a2a: (server, _run, { id }) => call(server, 'POST', `/a2a/lab/tasks/${id}:cancel`, { body: {}, headers: A2A }),
  'ai-sdk': (server, run) => call(server, 'POST', `/ai/lab/chat/${run}/stop`),
  'ag-ui': (server, _run, { session }) =>
    call(server, 'POST', `/ag-ui/lab/threads/${encodeURIComponent(session)}/stop`),
  mcp: (server, run) => call(server, 'POST', '/mcp', { body: tool('tasks/cancel', { taskId: run }) }),
}

/** All that a protocol's stream says, once the run has ended. */
async function follow(server: NativeServer, { resume: { url, headers = {} } }: Link): Promise<string> {
  const { status, body } = await call<string>(server, 'GET', url, { headers })
  expect(status, url).toBe(200)
  const frames: ParsedEvent[] = []
  new EventParser({ event: (frame) => frames.push(frame) }).push(body)
  return frames.map(({ data }) => data).join('\n')
}

const PROTOCOLS = Object.keys(starts)

test.each(PROTOCOLS)('one run, every protocol: started in %s, followed and stopped in every other', async (first) => {
  const server = await serveNative()
  for (const second of PROTOCOLS) {
    const about = `${first} → ${second}`
    await starts[first]!(server, `session of ${about}`)
    const { body: listed } = await call<{ runs: { id: string; protocol: string }[] }>(server, 'GET', '/runs?limit=1')
    const { id, protocol } = listed.runs[0]!
    expect(protocol, about).toBe(first)
    // Before the first event: the stream has everything.
    const { body } = await call<{ links: Link[] }>(server, 'GET', `/runs/${id}/links?protocol=native&position=-1`)
    const link = body.links.find((each) => each.protocol === second)!
    const followed = follow(server, link)
    await stops[second]!(server, id, link)
    await untilFinished(server, id)
    const log = await readEvents(server, id)
    expect(
      log.map(({ type }) => type).filter((type) => type.startsWith('run.')),
      about,
    ).toEqual(['run.created', 'run.started', 'run.cancelled'])
    const said = log.flatMap(({ type, data }) => (type === 'text.delta' ? [(data as { text: string }).text] : []))
    const shown = await followed
    for (const piece of said) expect(shown, about).toContain(JSON.stringify(piece).slice(1, -1))
    expect(shown, about).toMatch(/cancel|interrupted/i)
  }
})
