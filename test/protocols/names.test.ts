/** Names and metadata with any characters: returned unchanged by every protocol, or rejected before a run starts. */
import { describe, expect, test } from 'vitest'
import { decodeHeader } from '../../src/http/request/header-text.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { call, untilFinished } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'

interface Link {
  readonly protocol: string
  readonly session: string
  readonly resume: { readonly url: string; readonly headers?: Record<string, string> }
}

interface Run {
  readonly id: string
  readonly session: string
}

const taken = ['会話', 'é', '🌊', 'with space', '100%', '%20', '"quoted"', 'ß'.repeat(256)]
const refused = ['', 'a\r\nb', 'a\0b', '\u007F', '\u0085', '\uD800', 'x'.repeat(257)]

describe.each(taken)('session %j', (session) => {
  test('is the same in the native protocol and in the header and object of OpenAI', async () => {
    const server = await serveInProcess({ store: createMemoryStore() })
    const started = await call<Run>(server, 'POST', '/runs', { body: { component: 'lab', input: 'text 1', session } })
    expect(started).toMatchObject({ status: 202, body: { session } })
    const shown = await call(server, 'GET', `/v1/responses/resp_${started.body.id.slice('run_'.length)}`)
    expect(shown.status).toBe(200)
    expect(decodeHeader(shown.headers.get('holdfast-session')!)).toContain(session)
  })

  test('is the chat id of the AI SDK, in its header and messages', async () => {
    const server = await serveInProcess({ store: createMemoryStore() })
    const body = { id: session, messages: [{ role: 'user', parts: [{ type: 'text', text: 'text 1' }] }] }
    const sent = await call(server, 'POST', '/ai/lab/chat', { body })
    expect(sent.status).toBe(200)
    expect(decodeHeader(sent.headers.get('holdfast-session')!)).toContain(session)
    const { body: chat } = await call<{ messages: object[] }>(
      server,
      'GET',
      `/ai/lab/chat/${encodeURIComponent(session)}/messages`,
    )
    expect(chat.messages).toHaveLength(2)
  })

  test.each([true, false])('continues in a chat by the header of the last response, stream: %s', async (stream) => {
    const server = await serveInProcess({ store: createMemoryStore() })
    const body = { model: 'lab', messages: [{ role: 'user', content: 'text 1' }], stream }
    const headers = { 'holdfast-session': encodeURIComponent(session) }
    const first = await call(server, 'POST', '/v1/chat/completions', { body, headers })
    expect(first.status).toBe(200)
    const again = { 'holdfast-session': first.headers.get('holdfast-session')! }
    await call(server, 'POST', '/v1/chat/completions', { body, headers: again })
    const { body: page } = await call<{ runs: Run[] }>(server, 'GET', '/runs')
    expect(page.runs.map((run) => run.session)).toEqual([session, session])
  })
})

type Named = Pick<Run, 'session'> & { readonly metadata: object }

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: crypto.randomUUID(), method, params })

/** How each protocol starts a run in a session; undefined metadata: the protocol has no place for it. */
const starts: Readonly<
  Record<string, (given: Named) => { readonly path: string; readonly body: object; readonly hasMetadata: boolean }>
> = {
  native: ({ session, metadata }) => ({
    path: '/runs',
    body: { component: 'lab', input: 'text 1', session, metadata },
    hasMetadata: true,
  }),
  'OpenAI Responses': ({ session, metadata }) => ({
    path: '/v1/responses',
    body: { model: 'lab', input: 'text 1', conversation: session, metadata },
    hasMetadata: true,
  }),
  A2A: ({ session, metadata }) => ({
    path: '/a2a/lab/message:send',
    body: {
      message: { messageId: crypto.randomUUID(), contextId: session, role: 'ROLE_USER', parts: [{ text: 'text 1' }] },
      metadata,
    },
    hasMetadata: true,
  }),
  AgentOS: ({ session, metadata }) => ({
    path: '/agents/lab/runs',
    body: { message: 'text 1', session_id: session, metadata, stream: false },
    hasMetadata: true,
  }),
  'AI SDK UI': ({ session }) => ({
    path: '/ai/lab/chat',
    body: { id: session, messages: [{ role: 'user', parts: [{ type: 'text', text: 'text 1' }] }] },
    hasMetadata: false,
  }),
  'AG-UI': ({ session }) => ({
    path: '/ag-ui/lab',
    body: { threadId: session, runId: crypto.randomUUID(), messages: [{ id: 'm', role: 'user', content: 'text 1' }] },
    hasMetadata: false,
  }),
  MCP: ({ session, metadata }) => ({
    path: '/mcp',
    body: rpc('tools/call', {
      name: 'lab',
      arguments: { input: 'text 1' },
      _meta: { 'holdfast/session': session, 'holdfast/metadata': metadata },
    }),
    hasMetadata: true,
  }),
}

describe.each(Object.entries(starts))('%s', (_protocol, start) => {
  test('takes a session and metadata in any script, and every protocol shows them unchanged', async () => {
    const server = await serveInProcess({ store: createMemoryStore() })
    for (const name of taken) {
      const metadata = { [name.slice(0, 64)]: name, ключ: '値' }
      const { path, body, hasMetadata } = start({ session: name, metadata })
      const { status } = await call(server, 'POST', path, { body, headers: { 'a2a-version': '1.0' } })
      expect(status, name).toBeLessThan(300)
      const { body: page } = await call<{ runs: (Run & { metadata?: object })[] }>(server, 'GET', '/runs?limit=1')
      const [run] = page.runs
      expect(run!.session, name).toBe(name)
      expect(run!.metadata ?? {}, name).toMatchObject(hasMetadata ? metadata : {})
      await untilFinished(server, run!.id)
      const { body: linked } = await call<{ links: Link[] }>(
        server,
        'GET',
        `/runs/${run!.id}/links?protocol=native&position=-1`,
      )
      for (const { protocol, session, resume } of linked.links) {
        expect(session, `${protocol} ${name}`).toBe(name)
        const followed = await call(server, 'GET', resume.url, { headers: resume.headers ?? {} })
        expect(followed.status, `${protocol} ${name}`).toBe(200)
      }
    }
  })

  test('refuses a session that cannot be stored, and starts nothing', async () => {
    const server = await serveInProcess({ store: createMemoryStore() })
    for (const name of refused.filter((each) => each !== '')) {
      const { path, body } = start({ session: name, metadata: {} })
      const answer = await call<unknown>(server, 'POST', path, { body, headers: { 'a2a-version': '1.0' } })
      // MCP reports it in a result, for the caller's model.
      expect(answer.status >= 400 || JSON.stringify(answer.body).includes('isError'), name).toBe(true)
    }
    expect((await call<{ runs: Run[] }>(server, 'GET', '/runs')).body.runs).toEqual([])
  })
})

test('a title of a session in any script is the same in the native protocol and in AgentOS', async () => {
  const server = await serveInProcess({ store: createMemoryStore() })
  await call(server, 'POST', '/runs', { body: { component: 'lab', input: 'text 1', session: '会話' } })
  const path = encodeURIComponent('会話')
  for (const name of taken) {
    expect((await call(server, 'PATCH', `/native/sessions/${path}`, { body: { name } })).status).toBe(200)
    const { body: native } = await call<{ name: string }>(server, 'GET', `/native/sessions/${path}`)
    const { body: agentos } = await call<{ session_name: string }>(server, 'GET', `/sessions/${path}?type=agent`)
    expect([native.name, agentos.session_name]).toEqual([name, name])
  }
})

describe('a run in the background on a store that does not persist', () => {
  test.each([
    ['OpenAI Responses', '/v1/responses', { model: 'lab', input: 'text 1', background: true }],
    ['AgentOS', '/agents/lab/runs', { message: 'text 1', stream: false, background: true }],
    ['AgentOS, streamed', '/agents/lab/runs', { message: 'text 1', stream: true, background: true }],
  ])('says so in %s', async (_protocol, path, body) => {
    const memory = await serveInProcess({ store: createMemoryStore() })
    expect((await call(memory, 'POST', path, { body })).headers.get('holdfast-durable')).toBe('false')
    const durable = await serveInProcess()
    expect((await call(durable, 'POST', path, { body })).headers.get('holdfast-durable')).toBeNull()
  })
})

describe.each(refused)('session %j', (session) => {
  test.each<[string, string, object]>([
    ['native', '/runs', { component: 'lab', input: 'text 1', session }],
    ['OpenAI', '/v1/responses', { model: 'lab', input: 'text 1', conversation: session }],
    [
      'AI SDK UI',
      '/ai/lab/chat',
      { id: session, messages: [{ role: 'user', parts: [{ type: 'text', text: 'text 1' }] }] },
    ],
    ['AgentOS', '/sessions', { session_id: session === '' ? '\n' : session }],
    [
      'A2A',
      '/a2a/lab/message:send',
      {
        message: {
          messageId: 'm',
          contextId: session === '' ? '\n' : session,
          role: 'ROLE_USER',
          parts: [{ text: 'text 1' }],
        },
      },
    ],
  ])('is rejected by %s, and no run is started', async (_name, path, body) => {
    const server = await serveInProcess({ store: createMemoryStore() })
    const { status } = await call(server, 'POST', path, { body, headers: { 'a2a-version': '1.0' } })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect((await call<{ runs: Run[] }>(server, 'GET', '/runs')).body.runs).toEqual([])
  })
})

test.each<[object, number]>([
  [{ a: 'x\0y' }, 400],
  [{ 'a\0': 1 }, 400],
  [{ a: ['\uDFFF'] }, 400],
  [{ a: '\\u0000', b: '\\', c: '🌊\n' }, 202],
])('native: a start with metadata %j responds with %i', async (metadata, status) => {
  const server = await serveInProcess({ store: createMemoryStore() })
  const answer = await call(server, 'POST', '/runs', { body: { component: 'lab', input: 'text 1', metadata } })
  expect(answer.status).toBe(status)
})
