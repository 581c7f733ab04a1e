/** Keys and tokens that allow one component only, in every protocol. The route walk shows the same of keys that only read. */
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { createKey } from '../../src/server/auth/api-keys.ts'
import { message, serveA2a } from '../protocols/a2a/serve.ts'
import { call, startRun, type Target, untilStatus } from '../support/http.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const SECRET = 'a shared secret of more than 32 bytes'

interface Callers {
  readonly alice: Target
  /** Alice's credentials for `lab`: by our scope, and by the one of AgentOS. */
  readonly key: Target
  readonly token: Target
}

async function serve(): Promise<Callers> {
  const keys = join(temporaryFolder(), 'keys.json')
  const alice = await createKey(keys, { name: 'alice', principal: 'alice' })
  const limited = await createKey(keys, { name: 'limited', principal: 'alice', scopes: ['component:lab'] })
  const token = await new SignJWT({ sub: 'alice', scopes: ['agents:lab:run'] })
    .setExpirationTime('1h')
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(SECRET))
  const { url } = await serveA2a({ auth: { keys, jwt: { key: `secret:${SECRET}` } } })
  return { alice: { url, token: alice.key }, key: { url, token: limited.key }, token: { url, token } }
}

const starts: readonly (readonly [string, (component: string) => readonly [path: string, body: unknown]])[] = [
  ['native', (component) => ['/runs', { component, input: 'text 1' }]],
  ['OpenAI chat', (model) => ['/v1/chat/completions', { model, messages: [{ role: 'user', content: 'text 1' }] }]],
  ['OpenAI Responses', (model) => ['/v1/responses', { model, input: 'text 1' }]],
  ['A2A', (component) => [`/a2a/${component}/message:send`, { message: message('text 1') }]],
  [
    'AI SDK UI',
    (component) => [
      `/ai/${component}/chat`,
      { messages: [{ role: 'user', parts: [{ type: 'text', text: 'text 1' }] }] },
    ],
  ],
  [
    'MCP',
    (name) => [
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { input: 'text 1' } } },
    ],
  ],
  ['AgentOS', (component) => [`/agents/${component}/runs`, { message: 'text 1', stream: false }]],
]

test.each(starts)('[SEC-2] %s: a credential for one component starts that one and no other', async (_name, request) => {
  const { key, token } = await serve()
  for (const caller of [key, token]) {
    const start = (component: string) => {
      const [path, body] = request(component)
      return call(caller, 'POST', path, { body, headers: { 'a2a-version': '1.0' } })
    }
    expect((await start('lab')).status).toBeLessThan(300)
    expect((await start('echo')).status).toBe(403)
  }
})

test('[SEC-2] WebSocket: a credential for one component starts that one and no other', async () => {
  const { key, token } = await serve()
  for (const { url, token: shown } of [key, token]) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/agents/ws`)
    onTestFinished(() => socket.terminate())
    const seen: string[] = []
    socket.on('message', (data: Buffer) => seen.push(data.toString()))
    await until('it is open', () => seen.length > 0)
    socket.send(JSON.stringify({ action: 'authenticate', token: shown }))
    socket.send(JSON.stringify({ action: 'start-agent', agent_id: 'echo', message: 'text 1' }))
    await until('it is refused', () => seen.some((text) => text.includes('forbidden')))
    expect(seen.join('\n')).not.toContain('RunStarted')
    socket.send(JSON.stringify({ action: 'start-agent', agent_id: 'lab', message: 'text 1' }))
    await until('it starts', () => seen.some((text) => text.includes('RunStarted')))
  }
})

test('[SEC-2] a credential for one component neither lists, reads, answers, stops nor removes runs of another', async () => {
  const { alice, key, token } = await serve()
  const own = await startRun(alice, 'ask Go on?')
  const other = await startRun(alice, 'x', { component: 'surveyor' })
  await untilStatus(alice, own.id, ['paused'])
  await untilStatus(alice, other.id, ['paused'])
  for (const caller of [key, token]) {
    const { body } = await call<{ runs: { id: string }[] }>(caller, 'GET', '/runs')
    expect(body.runs.map(({ id }) => id)).toEqual([own.id])
    expect((await call(caller, 'GET', `/runs/${own.id}`)).status).toBe(200)
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/events'],
      ['POST', '/answers'],
      ['POST', '/stop'],
      ['DELETE', ''],
    ] as const) {
      const answered = method === 'POST' ? { body: { answer: 1 } } : {}
      expect((await call(caller, method, `/runs/${other.id}${path}`, answered)).status, method + path).toBe(403)
    }
  }
  await untilStatus(alice, other.id, ['paused'])
})
