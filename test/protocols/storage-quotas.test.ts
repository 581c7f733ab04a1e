/** Storage quotas of a principal, and the error in each protocol. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Limits } from '../../src/core/model/limits.ts'
import { createKeys } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { serveNative } from './native/serve.ts'

async function serveTwo(limits: Partial<Limits>) {
  const path = join(temporaryFolder(), 'keys.json')
  const [anna, bert] = await createKeys(path, ['anna', 'bert'])
  let ahead = 0
  const clock = { now: () => Date.now(), elapsed: () => performance.now() + ahead }
  const server = await serveNative({ auth: { keys: path }, limits, clock })
  const ask = async (key: string, method: string, target: string, body?: unknown, headers: object = {}) => {
    const response = await fetch(server.url + target, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text.startsWith('{') ? (JSON.parse(text) as { id?: string }) : {} }
  }
  return { anna: anna!, bert: bert!, ask, server, recount: () => void (ahead += 60_000) }
}

const a2aMessage = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'text 1' }] } }
const conversation = { items: [], metadata: { note: 'x'.repeat(400) } }

/** Requests that store something, with the refusal of each protocol. */
const writes: readonly (readonly [string, string, unknown, object, object])[] = [
  ['native', '/runs', { component: 'lab', input: 'text 1' }, {}, { code: 'quota_exceeded' }],
  [
    'OpenAI chat completions',
    '/v1/chat/completions',
    { model: 'lab', messages: [{ role: 'user', content: 'text 1' }] },
    {},
    { error: { type: 'insufficient_quota', code: 'insufficient_quota' } },
  ],
  ['OpenAI conversations', '/v1/conversations', conversation, {}, { error: { code: 'insufficient_quota' } }],
  ['A2A over REST', '/a2a/lab/message:send', a2aMessage, { 'a2a-version': '1.0' }, { error: { code: 507 } }],
  ['AI SDK UI', '/ai/lab/chat', { messages: [{ role: 'user', parts: [{ type: 'text', text: 'text 1' }] }] }, {}, {}],
  ['AgentOS sessions', '/sessions?type=agent', { agent_id: 'lab', session_name: 's' }, {}, {}],
]

test('[SEC-2] a principal over its storage quota gets 507 for starts and document writes, in every protocol', async () => {
  const { anna, bert, ask, server, recount } = await serveTwo({ maxStoredBytesPerPrincipal: 30_000 })
  const started = await ask(anna, 'POST', '/runs?wait=20000', { component: 'lab', input: 'text 400' })
  const run = started.body.id!
  await expect
    .poll(async () => (await ask(anna, 'GET', `/runs/${run}`)).body, { timeout: 15_000 })
    .toMatchObject({
      status: 'completed',
    })
  recount()
  for (const [name, path, body, headers, refusal] of writes) {
    const refused = await ask(anna, 'POST', path, body, headers)
    expect(refused, name).toMatchObject({ status: 507, body: refusal })
    expect((await ask(bert, 'POST', path, body, headers)).status, name).toBeLessThan(300)
  }
  expect((await ask(anna, 'DELETE', `/runs/${run}`)).status).toBeLessThan(300)
  recount()
  expect((await ask(anna, 'POST', '/runs', { component: 'lab', input: 'text 1' })).status).toBe(202)
  expect((await server.store.usage.of('key:bert')).runs).toBe(4)
})

test('[SEC-2] storage that a node admits counts at once, before the store is asked again', async () => {
  const { anna, ask } = await serveTwo({ maxStoredBytesPerPrincipal: 20_000 })
  const statuses: number[] = []
  for (let count = 0; count < 30; count++)
    statuses.push((await ask(anna, 'POST', '/v1/conversations', conversation)).status)
  expect(statuses[0]).toBe(200)
  expect(statuses.at(-1)).toBe(507)
})

test('[SEC-2] a principal with too many documents can create no more, but change those it has', async () => {
  const { anna, bert, ask } = await serveTwo({ maxDocumentsPerPrincipal: 3 })
  const ids: string[] = []
  for (let count = 0; count < 3; count++)
    ids.push((await ask(anna, 'POST', '/v1/conversations', conversation)).body.id!)
  expect((await ask(anna, 'POST', '/v1/conversations', conversation)).status).toBe(507)
  const renamed = await ask(anna, 'POST', `/v1/conversations/${ids[0]}`, { metadata: { note: 'y'.repeat(10) } })
  expect(renamed.status).toBe(200)
  expect((await ask(bert, 'POST', '/v1/conversations', conversation)).status).toBe(200)
})

test('[SEC-2] an accepted run is not cut by the storage quota, and can be answered', async () => {
  const { anna, ask, recount } = await serveTwo({ maxStoredBytesPerPrincipal: 10_000 })
  const { body } = await ask(anna, 'POST', '/runs', { component: 'lab', input: 'text 200; ask Sure?; text 200' })
  const status = async () => (await ask(anna, 'GET', `/runs/${body.id}`)).body
  await expect.poll(status, { timeout: 15_000 }).toMatchObject({ status: 'paused' })
  recount()
  expect((await ask(anna, 'POST', '/runs', { component: 'lab', input: 'text 1' })).status).toBe(507)
  const answered = await ask(anna, 'POST', `/runs/${body.id}/answers`, { answer: 'yes' })
  expect(answered.status).toBeLessThan(300)
  await expect.poll(status, { timeout: 15_000 }).toMatchObject({ status: 'completed' })
})

test('[SEC-2] the storage quota counts the bytes of a document, not its characters', async () => {
  const { anna, ask } = await serveTwo({ maxStoredBytesPerPrincipal: 10_000 })
  const put = async (id: string): Promise<number> => {
    const body = { session_id: id, agent_id: 'lab', session_state: { text: '漢'.repeat(4000) } }
    return (await ask(anna, 'POST', '/sessions?type=agent', body)).status
  }
  expect([await put('a'), await put('b')]).toEqual([201, 507])
})
