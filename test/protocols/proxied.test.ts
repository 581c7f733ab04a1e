/** Behind a trusted proxy, a server sees the original client addresses and URLs. */
import { get } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditEntry } from '../../src/core/access/audit.ts'
import { freePort } from '../support/free-port.ts'
import { call } from '../support/http.ts'
import { createKeys } from '../support/keys.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'
import { stillClock } from '../support/still-clock.ts'
import { Peer } from './a2a/peer.ts'
import { serveA2a } from './a2a/serve.ts'

const proxied = {
  'x-forwarded-for': '198.51.100.7',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'agents.example',
}

interface Card {
  readonly supportedInterfaces: readonly { readonly url: string }[]
}

test.each([
  [['loopback'], /^https:\/\/agents\.example\/a2a\/lab$/],
  [[], /^http:\/\/127\.0\.0\.1:\d+\/a2a\/lab$/],
])('A2A: a card has the public address of the proxy only if the proxy is trusted (%j)', async (trustProxy, url) => {
  const server = await serveA2a({ trustProxy, allowedHosts: ['agents.example'] })
  const { body } = await call<Card>(server, 'GET', '/a2a/lab/.well-known/agent-card.json', {
    headers: { ...proxied, 'a2a-version': '1.0' },
  })
  expect(body.supportedInterfaces[0]!.url).toMatch(url)
})

test('CORS: a page behind a trusted proxy that ends TLS may change things, and one behind another may not', async () => {
  const start = {
    body: { component: 'lab', input: 'text 1' },
    headers: { ...proxied, origin: 'https://agents.example' },
  }
  const given = { allowedHosts: ['agents.example'] }
  expect((await call(await serveA2a({ ...given, trustProxy: ['loopback'] }), 'POST', '/runs', start)).status).toBe(202)
  expect((await call(await serveA2a(given), 'POST', '/runs', start)).status).toBe(403)
})

test('holdfast serve accepts the host names of --allowed-hosts, and no others', async () => {
  const server = await startServer({ store: temporaryDatabase(), args: ['--allowed-hosts', 'agents.example'] })
  const ask = (host: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = get(`${server.url}/runs`, { headers: { host } }, (response) => {
        response.resume()
        resolve(response.statusCode!)
      })
      asked.on('error', reject)
    })
  expect([await ask('agents.example'), await ask('evil.example'), await ask('localhost')]).toEqual([200, 403, 200])
})

test('audit log and throttling of wrong credentials use the client’s address behind a proxy, over HTTP and gRPC', async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  await createKeys(keys, ['anna'])
  const entries: AuditEntry[] = []
  const grpcPort = await freePort()
  const server = await serveA2a({
    auth: { keys },
    audit: (entry) => entries.push(entry),
    trustProxy: ['loopback'],
    clock: stillClock,
    limits: { maxAuthFailureBurst: 2 },
    a2a: { grpcPort },
  })
  const ask = async (client: string): Promise<number> =>
    (await call({ url: server.url, token: 'hf_wrong' }, 'GET', '/runs', { headers: { 'x-forwarded-for': client } }))
      .status
  expect([await ask('198.51.100.7'), await ask('198.51.100.7'), await ask('198.51.100.7')]).toEqual([401, 401, 429])
  expect(await ask('198.51.100.8')).toBe(401)
  const peer = new Peer(`127.0.0.1:${grpcPort}`)
  await expect(peer.call('ListTasks', {}, { 'x-forwarded-for': '198.51.100.9' })).rejects.toThrow('UNAUTHENTICATED')
  expect(entries.map(({ from }) => from)).toEqual(['198.51.100.7', '198.51.100.7', '198.51.100.8', '198.51.100.9'])
})

test.each([
  '/runs',
  '/runs/none',
  '/sessions',
  '/v1/models',
  '/console',
  '/a2a/lab/.well-known/agent-card.json',
  '/nowhere',
])('no page of another origin can embed or frame a response: %s', async (path) => {
  const { headers } = await call(await serveA2a(), 'GET', path, { headers: { 'a2a-version': '1.0' } })
  expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
  expect(headers.get('x-frame-options')).toBe('DENY')
})
