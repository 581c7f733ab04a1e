/** Credentials of webhooks: encrypted at rest, sent to the receiver, returned by no binding. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLogger } from '../../../src/core/ports/logger.ts'
import { openSecretKeys } from '../../../src/server/secrets/secret-keys.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { freePort } from '../../support/free-port.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { Peer } from './peer.ts'
import { receive } from './receiver.ts'
import { type A2aServer, current, rpc, send, serveA2a } from './serve.ts'

const TOKEN = 'token-of-the-webhook'
const CREDENTIALS = 'credentials-of-the-webhook'
const secrets = { token: TOKEN, authentication: { scheme: 'Bearer', credentials: CREDENTIALS } }
const legacy = { 'a2a-version': '0.3' }
const newKey = (): string => randomBytes(32).toString('hex')

/** Short delays, so that tests need not wait. */
const limits = { pollIntervalMs: 20, retryDelayMs: 10, maxRetryDelayMs: 50, followTimeoutMs: 200, maxAttempts: 2 }
const a2a = { push: { loopback: true, limits } }

async function serveFile(path: string, secretKeys: readonly string[]): Promise<A2aServer> {
  const store = await openSqliteStore({ path })
  return serveA2a({ store, a2a, secretKeys })
}

/** All bytes of the files of a store: the database and its write-ahead log. */
function bytesOf(path: string): string {
  const folder = dirname(path)
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\n')
}

test('[SEC-1] A2A: no file of the store has a webhook’s credentials in plain text', async () => {
  const path = temporaryDatabase()
  const server = await serveFile(path, [newKey()])
  const { id: taskId } = await send(server.agent(), 'ask Go?')
  await rpc(server.agent(), 'CreateTaskPushNotificationConfig', {
    taskId,
    id: 'hook-of-the-test',
    url: 'https://example.com/hook',
    ...secrets,
  })
  const live = bytesOf(path)
  await server.close()
  const closed = bytesOf(path)
  for (const bytes of [live, closed]) {
    expect(bytes).toContain('hook-of-the-test')
    expect(bytes).not.toContain(TOKEN)
    expect(bytes).not.toContain(CREDENTIALS)
  }
})

test('[SEC-1] A2A: no binding returns a webhook’s token or credentials', async () => {
  const grpcPort = await freePort()
  const server = await serveA2a({ a2a: { ...a2a, grpcPort } })
  const { id: taskId } = await send(server.agent(), 'ask Go?')
  const rest = `${server.agent()}/tasks/${taskId}/pushNotificationConfigs`
  const hook = { url: 'https://example.com/hook', ...secrets }
  const legacyHook = { ...hook, id: 'rpc03', authentication: { schemes: ['Bearer'], credentials: CREDENTIALS } }
  const one = new Peer(`127.0.0.1:${grpcPort}`, '1.0')
  const zero = new Peer(`127.0.0.1:${grpcPort}`, '0.3')
  const parent = `tasks/${taskId}`
  const answers: unknown[] = [
    await rpc(server.agent(), 'CreateTaskPushNotificationConfig', { taskId, id: 'rpc', ...hook }),
    await rpc(server.agent(), 'GetTaskPushNotificationConfig', { taskId, id: 'rpc' }),
    await rpc(server.agent(), 'ListTaskPushNotificationConfigs', { taskId }),
    await rpc(
      server.agent(),
      'tasks/pushNotificationConfig/set',
      { taskId, pushNotificationConfig: legacyHook },
      legacy,
    ),
    await rpc(
      server.agent(),
      'tasks/pushNotificationConfig/get',
      { id: taskId, pushNotificationConfigId: 'rpc' },
      legacy,
    ),
    await rpc(server.agent(), 'tasks/pushNotificationConfig/list', { id: taskId }, legacy),
    await (
      await fetch(rest, { method: 'POST', headers: current, body: JSON.stringify({ id: 'rest', ...hook }) })
    ).json(),
    await (await fetch(`${rest}/rest`, { headers: current })).json(),
    await (await fetch(rest, { headers: current })).json(),
    await one.call('CreateTaskPushNotificationConfig', { taskId, id: 'grpc', ...hook }),
    await one.call('GetTaskPushNotificationConfig', { taskId, id: 'grpc' }),
    await one.call('ListTaskPushNotificationConfigs', { taskId }),
    await zero.call('GetTaskPushNotificationConfig', { name: `${parent}/pushNotificationConfigs/grpc` }),
    await zero.call('ListTaskPushNotificationConfig', { parent }),
  ]
  for (const answer of answers) {
    const text = JSON.stringify(answer)
    expect(text).toContain('https://example.com/hook')
    expect(text).not.toContain(TOKEN)
    expect(text).not.toContain(CREDENTIALS)
    expect(text).toContain('Bearer') // the scheme is no secret
  }
})

test('A2A: a webhook gets its credentials after the secret key was rotated', async () => {
  const path = temporaryDatabase()
  const [old, young] = [newKey(), newKey()]
  const receiver = await receive()
  const first = await serveFile(path, [old])
  const { id: taskId } = await send(first.agent(), 'ask Go?')
  await rpc(first.agent(), 'CreateTaskPushNotificationConfig', { taskId, url: receiver.url, ...secrets })
  await first.close()
  const before = receiver.received.length
  const second = await serveFile(path, [young, old])
  await rpc(second.agent(), 'CancelTask', { id: taskId })
  await until('the receiver is told', () => receiver.received.length > before)
  expect(receiver.received.at(-1)!.headers).toMatchObject({
    'x-a2a-notification-token': TOKEN,
    authorization: `Bearer ${CREDENTIALS}`,
  })
})

test('A2A: a webhook whose key is no longer configured becomes a dead letter that names the key', async () => {
  const path = temporaryDatabase()
  const receiver = await receive()
  const first = await serveFile(path, [newKey()])
  const { id: taskId } = await send(first.agent(), 'ask Go?')
  await rpc(first.agent(), 'CreateTaskPushNotificationConfig', { taskId, url: receiver.url, ...secrets })
  await first.close()
  const before = receiver.received.length
  const second = await serveFile(path, [newKey()])
  await rpc(second.agent(), 'CancelTask', { id: taskId })
  const dead = await until('it is given up', async () => {
    const answer = await (await fetch(`${second.url}/a2a/dead-letters`)).text()
    return answer.includes(taskId) && answer
  })
  expect(dead).toMatch(/encrypted with the key [0-9a-f]{8}, which is not configured/)
  expect(receiver.received.length).toBe(before)
})

test('A2A: without a secret key a durable store accepts webhooks without credentials only', async () => {
  const server = await serveFile(temporaryDatabase(), [])
  const { id: taskId } = await send(server.agent(), 'ask Go?')
  const hook = { taskId, url: 'https://example.com/hook' }
  expect(
    (await rpc(server.agent(), 'CreateTaskPushNotificationConfig', { ...hook, id: 'plain' })).error,
  ).toBeUndefined()
  const refused = await rpc(server.agent(), 'CreateTaskPushNotificationConfig', { ...hook, id: 'secret', ...secrets })
  expect(refused.error).toMatchObject({ message: expect.stringContaining('--secret-key') as string })
  const list = await rpc(server.agent(), 'ListTaskPushNotificationConfigs', { taskId })
  expect(JSON.stringify(list)).not.toContain('"secret"')
})

test('A2A: a webhook address with a password is rejected', async () => {
  const server = await serveA2a()
  const { id: taskId } = await send(server.agent(), 'ask Go?')
  const hook = { taskId, url: 'https://user:pass-word@example.com/hook' }
  const { error } = await rpc(server.agent(), 'CreateTaskPushNotificationConfig', hook)
  expect(error).toMatchObject({ code: -32602 })
  expect(JSON.stringify(error)).not.toContain('pass-word')
})

test('config: the key file of a SQLite store is created once, readable by its owner alone', () => {
  const path = temporaryDatabase()
  const store = { kind: 'sqlite', path } as const
  const [key] = openSecretKeys(undefined, store, silentLogger)!
  expect(statSync(`${path}.key`).mode & 0o777).toBe(0o600)
  expect(openSecretKeys(undefined, store, silentLogger)).toEqual([key])
  expect(openSecretKeys(`file:${path}.key`, { kind: 'memory' }, silentLogger)).toEqual([key])
  expect(openSecretKeys(undefined, { kind: 'memory' }, silentLogger)).toBeUndefined()
  expect(() => openSecretKeys('file:/nowhere/key', store, silentLogger)).toThrow(/cannot be read/)
})
