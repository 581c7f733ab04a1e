/** What one principal may take, said in each protocol's own form. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Limits } from '../../src/core/limits.ts'
import { openAuthenticator } from '../../src/server/auth/index.ts'
import { createKeys } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { serveNative } from './native/serve.ts'

async function serveTwo(limits: Partial<Limits>) {
  const path = join(temporaryFolder(), 'keys.json')
  const [anna, bert] = await createKeys(path, ['anna', 'bert'])
  const server = await serveNative({ authenticator: await openAuthenticator({ keys: path }), limits })
  const ask = async (key: string | undefined, path_: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path_, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const retryAfter = Number(response.headers.get('retry-after'))
    return { status: response.status, retryAfter, body: text.startsWith('{') ? (JSON.parse(text) as object) : {} }
  }
  return { anna: anna!, bert: bert!, ask }
}

const a2aMessage = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'text 1' }] } }

const starts: readonly (readonly [string, string, unknown, Record<string, string>, object])[] = [
  ['native', '/runs', { component: 'lab', input: 'text 1' }, {}, { code: 'rate_limited' }],
  [
    'OpenAI chat completions',
    '/v1/chat/completions',
    { model: 'lab', messages: [{ role: 'user', content: 'text 1' }] },
    {},
    { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
  ],
  [
    'OpenAI Responses',
    '/v1/responses',
    { model: 'lab', input: 'text 1' },
    {},
    { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
  ],
  ['A2A over REST', '/a2a/lab/message:send', a2aMessage, { 'a2a-version': '1.0' }, { error: { code: 429 } }],
]

describe('[SEC-2] starts beyond the rate of a principal', () => {
  test.each(starts)('are answered with 429 and Retry-After: %s', async (_name, path, body, headers, refusal) => {
    const { anna, bert, ask } = await serveTwo({ startsPerSecondMax: 1, startsBurstMax: 1 })
    const start = { component: 'lab', input: 'text 1' }
    expect((await ask(anna, '/runs', start)).status).toBe(202)
    const refused = await ask(anna, path, body, headers)
    expect(refused).toMatchObject({ status: 429, body: refusal })
    expect(refused.retryAfter).toBeGreaterThan(0)
    expect((await ask(bert, path, body, headers)).status).toBeLessThan(300)
  })
})

test('[SEC-2] requests beyond the rate of a principal are refused, and those of another are not', async () => {
  const { anna, bert, ask } = await serveTwo({ requestsPerSecondMax: 1, requestsBurstMax: 3 })
  for (let count = 0; count < 3; count++) expect((await ask(anna, '/runs')).status).toBe(200)
  expect(await ask(anna, '/runs')).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect((await ask(bert, '/runs')).status).toBe(200)
  expect((await ask(undefined, '/health')).status).toBe(200)
})

test('[SEC-2] wrong credentials are throttled by address, and whoever showed a right one there goes on', async () => {
  const { anna, bert, ask } = await serveTwo({ loginFailuresBurstMax: 3 })
  expect((await ask(anna, '/runs')).status).toBe(200)
  for (let count = 0; count < 3; count++) expect((await ask(`hf_wrong${count}`, '/runs')).status).toBe(401)
  const refused = await ask('hf_wrong', '/runs')
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(refused.retryAfter).toBeGreaterThan(0)
  expect((await ask(anna, '/runs')).status).toBe(200)
  // Nobody who guesses is told by the answer that a guess was right.
  expect((await ask(bert, '/runs')).status).toBe(429)
})

test('[SEC-2] a server without authentication has one principal and no rate for it', async () => {
  const server = await serveNative({ limits: { requestsPerSecondMax: 1, requestsBurstMax: 1, startsBurstMax: 1 } })
  for (let count = 0; count < 20; count++) expect((await fetch(`${server.url}/runs`)).status).toBe(200)
})
