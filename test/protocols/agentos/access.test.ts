/** Access control: keys, tokens, principals, and pages of other sites. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKeys } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { framesIn, idsOf, postForm, serveAgentOs, stream } from './serve.ts'

const SECRET = 'a-key-that-everybody-shares'

describe('AgentOS: the security key', () => {
  test('admits its holders, and only public routes are open to everybody', async () => {
    const server = await serveAgentOs({ auth: { securityKey: SECRET } })
    for (const path of ['/', '/health', '/info']) expect((await fetch(server.url + path)).status).toBe(200)
    for (const path of ['/agents', '/config', '/sessions']) {
      const without = await fetch(server.url + path)
      expect([without.status, await without.json()]).toMatchObject([401, { detail: expect.any(String) }])
      const wrong = await fetch(server.url + path, { headers: { authorization: `Bearer ${SECRET}x` } })
      expect(wrong.status).toBe(401)
      expect((await fetch(server.url + path, { headers: { authorization: `Bearer ${SECRET}` } })).status).toBe(200)
    }
    expect(await (await fetch(`${server.url}/info`)).json()).toMatchObject({ auth_mode: 'security_key' })
    const frames = await stream(server, '/agents/lab/runs', { message: 'text 1' }, { token: SECRET })
    expect(frames.at(-1)!.event).toBe('RunCompleted')
  })

  test('can be combined with keys of principals, who do not see the runs of its holders', async () => {
    const keys = join(temporaryFolder(), 'keys.json')
    const [ann] = await createKeys(keys, ['ann'])
    const server = await serveAgentOs({ auth: { keys, securityKey: SECRET } })
    const { run } = idsOf(await stream(server, '/agents/lab/runs', { message: 'text 1' }, { token: SECRET }))
    expect((await postForm(server, `/agents/lab/runs/${run}/resume`, {}, { token: SECRET })).status).toBe(200)
    expect((await postForm(server, `/agents/lab/runs/${run}/resume`, {}, { token: ann! })).status).toBe(404)
  })
})

test("[SEC-1] AgentOS: another principal's runs and sessions do not exist, on every route that names one", async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const [ann, ben] = await createKeys(keys, ['ann', 'ben'])
  const server = await serveAgentOs({ auth: { keys } })
  const { run, session } = idsOf(await stream(server, '/agents/clerk/runs', { message: 'send' }, { token: ann! }))
  const query = `?session_id=${session}`
  const requests: readonly (readonly [string, string])[] = [
    ['GET', `/agents/clerk/runs/${run}${query}`],
    ['GET', `/agents/clerk/runs${query}`],
    ['POST', `/agents/clerk/runs/${run}/cancel${query}`],
    ['POST', `/agents/clerk/runs/${run}/continue`],
    ['POST', `/agents/clerk/runs/${run}/resume`],
    ['GET', `/agents/clerk/runs/${run}/resume`],
    ['GET', `/agents/clerk/runs/${run}/checkpoints${query}`],
    ['GET', `/agents/clerk/runs/${run}/checkpoints/0${query}`],
    ['POST', `/agents/clerk/sessions/${session}/fork`],
    ['GET', `/sessions/${session}`],
    ['GET', `/sessions/${session}/runs`],
    ['GET', `/sessions/${session}/runs/${run}`],
    ['POST', `/sessions/${session}/rename`],
    ['PATCH', `/sessions/${session}`],
    ['DELETE', `/sessions/${session}`],
  ]
  const bodies: Readonly<Record<string, string>> = { rename: '{"session_name":"x"}', [session]: '{}' }
  for (const [method, path] of requests) {
    const json = bodies[path.split('/').at(-1)!]
    const body = method === 'GET' ? undefined : (json ?? new URLSearchParams({ tools: '[]', session_id: session }))
    const answer = await fetch(server.url + path, {
      method,
      ...(body !== undefined && { body }),
      headers: {
        authorization: `Bearer ${ben}`,
        ...(json !== undefined && method !== 'GET' && { 'content-type': 'application/json' }),
      },
    })
    expect([method, path, answer.status]).toEqual([method, path, 404])
  }
  const mine = await fetch(`${server.url}/sessions`, { headers: { authorization: `Bearer ${ben}` } })
  expect(((await mine.json()) as { data: unknown[] }).data).toEqual([])
  // For its owner it still exists and is still paused.
  const frames = framesIn(
    await (await postForm(server, `/agents/clerk/runs/${run}/resume`, {}, { token: ann! })).text(),
  )
  expect(frames[0]!.data).toMatchObject({ status: 'PAUSED' })
})

describe('AgentOS: cross-origin requests', () => {
  const ORIGIN = 'https://ui.example'
  const preflight = {
    origin: ORIGIN,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  }

  test('are accepted from a configured origin', async () => {
    const server = await serveAgentOs({ corsOrigins: [ORIGIN] })
    const requested = await fetch(`${server.url}/agents/lab/runs`, { method: 'OPTIONS', headers: preflight })
    expect(requested.status).toBe(204)
    expect(Object.fromEntries(requested.headers)).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-headers': 'authorization',
      'access-control-allow-methods': expect.stringContaining('DELETE'),
    })
    const run = await postForm(server, '/agents/lab/runs', { message: 'text 1' }, { headers: { origin: ORIGIN } })
    expect([run.status, run.headers.get('access-control-allow-origin')]).toEqual([200, ORIGIN])
    const wrong = await fetch(`${server.url}/agents/nobody`, { headers: { origin: ORIGIN } })
    expect([wrong.status, wrong.headers.get('access-control-allow-origin')]).toEqual([404, ORIGIN])
    const other = await postForm(
      server,
      '/agents/lab/runs',
      { message: 'x' },
      { headers: { origin: 'https://evil.example' } },
    )
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([403, null])
  })

  test('are rejected if no origin is configured', async () => {
    const server = await serveAgentOs()
    const requested = await fetch(`${server.url}/agents`, { method: 'OPTIONS', headers: preflight })
    expect([requested.status, requested.headers.get('access-control-allow-origin')]).toEqual([403, null])
    const run = await postForm(server, '/agents/lab/runs', { message: 'x' }, { headers: { origin: ORIGIN } })
    expect([run.status, await run.json()]).toMatchObject([403, { detail: expect.stringContaining(ORIGIN) }])
  })
})
