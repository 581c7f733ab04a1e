/** Names and metadata of any characters: taken and given back unchanged by every protocol, or refused before anything is started. */
import { describe, expect, test } from 'vitest'
import { decodeHeader } from '../../src/http/header-text.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { call } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'

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

  test('is that of a chat of the AI SDK, in its header and messages', async () => {
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
