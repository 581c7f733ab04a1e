import { join } from 'node:path'
import { compactVerify, generateKeyPair } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock, systemIds } from '../../../src/core/ports/clock.ts'
import { silentLogger } from '../../../src/core/ports/logger.ts'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import type { A2aOptions } from '../../../src/protocols/a2a/index.ts'
import { isAllowed, type Lookup } from '../../../src/http/webhooks/addresses.ts'
import { PushDelivery } from '../../../src/protocols/a2a/push/push-delivery.ts'
import { defaultPushLimits } from '../../../src/protocols/a2a/push/limits.ts'
import { Pushes, type PushParts } from '../../../src/protocols/a2a/push/index.ts'
import { createKeys } from '../../support/keys.ts'
import { startServer } from '../../support/process.ts'
import { temporaryDatabase, temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { receive, type Receiver, sequences } from './receiver.ts'
import {
  type A2aServer,
  assembled,
  begin,
  current,
  message,
  result,
  rpc,
  send,
  serveA2a,
  states,
  stream,
  drained,
  texts,
} from './serve.ts'

/** Short delays, so that tests need not wait. */
const limits = { pollIntervalMs: 20, retryDelayMs: 10, maxRetryDelayMs: 50, followTimeoutMs: 200 }
const a2a: A2aOptions = { push: { loopback: true, limits } }

function pushTo(url: string, more: object = {}): object {
  return { returnImmediately: true, taskPushNotificationConfig: { id: 'c', url, ...more } }
}

function isOver({ taken }: Receiver): boolean {
  return states(taken.map(({ body }) => body)).some((state) => /COMPLETED|FAILED|CANCELED/.test(state))
}

interface DeadLetters {
  readonly deadLetters: readonly { readonly taskId: string; readonly configId: string; readonly error: string }[]
}

async function deadLetters(url: string, headers: Record<string, string> = {}): Promise<DeadLetters['deadLetters']> {
  const answer = await fetch(`${url}/a2a/dead-letters`, { headers })
  return ((await answer.json()) as DeadLetters).deadLetters
}

test('push: a slow poll does not schedule a timer in the past', async () => {
  const warnings: Error[] = []
  const note = (warning: Error): void => void warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const server = await serveA2a({ a2a: { push: { loopback: true, limits: { ...limits, pollIntervalMs: 0 } } } })
  const receiver = await receive()
  await send(server.agent(), 'text 1', {}, pushTo(receiver.url))
  await until('the end is told', () => isOver(receiver))
  expect(warnings).toEqual([])
})

test('push: a receiver gets everything that a stream sends, in order, with its token and its credentials', async () => {
  const server = await serveA2a({ a2a })
  const receiver = await receive()
  const authentication = { scheme: 'Bearer', credentials: 'secret' }
  await send(server.agent(), 'text 20', {}, pushTo(receiver.url, { token: 't', authentication }))
  await until('the end is told', () => isOver(receiver))
  const streamed = await drained(stream(server.agent(), 'text 20'))
  const reported = receiver.received.map(({ body }) => body)
  expect(states(reported)).toEqual(['SUBMITTED', 'WORKING', 'COMPLETED'])
  expect(reported.map((update) => Object.keys(update)[0])).toEqual(
    streamed.map((update) => Object.keys(update).find((key) => key !== 'id')),
  )
  expect(Object.values(assembled(reported))).toEqual(Object.values(assembled(streamed)))
  expect(sequences(receiver.received)).toEqual(reported.map((_update, index) => index))
  expect(receiver.received.at(-1)?.headers).toMatchObject({
    'content-type': 'application/a2a+json',
    'x-a2a-notification-token': 't',
    authorization: 'Bearer secret',
  })
})

test('push: the signature proves sender and content to a receiver with the cards’ public key', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const server = await serveA2a({
    a2a: { ...a2a, url: 'https://agents.example', signer: { key: privateKey, alg: 'ES256', kid: 'k-1' } },
  })
  const receiver = await receive()
  await send(server.agent(), 'text 3', {}, pushTo(receiver.url))
  await until('the end is told', () => isOver(receiver))
  expect(receiver.received.length).toBeGreaterThan(3)
  for (const { headers, text } of receiver.received) {
    const [header, none, signature] = String(headers['x-a2a-notification-signature']).split('.')
    const verified = (body: string) =>
      compactVerify(`${header}.${Buffer.from(body).toString('base64url')}.${signature}`, publicKey)
    const { protectedHeader } = await verified(text)
    expect(protectedHeader).toMatchObject({ alg: 'ES256', kid: 'k-1', aud: receiver.url })
    expect(Math.abs(Number(protectedHeader['iat']) - Date.now() / 1000)).toBeLessThan(60)
    expect(none).toBe('')
    await expect(verified(text.replace('"taskId"', '"taskid"').replace('"id"', '"Id"'))).rejects.toThrow('signature')
  }
})

test('push: a 0.3 configuration gets the whole task on each status change', async () => {
  const server = await serveA2a({ a2a })
  const receiver = await receive()
  const configuration = { blocking: false, pushNotificationConfig: { url: receiver.url, token: 't' } }
  const sent = { kind: 'message', messageId: 'm-legacy', role: 'user', parts: [{ kind: 'text', text: 'text 5' }] }
  await rpc(server.agent(), 'message/send', { message: sent, configuration }, { 'a2a-version': '0.3' })
  const reported = await until('the end is told', () => {
    const { body } = receiver.received.at(-1) ?? {}
    return (body?.['status'] as { state?: string } | undefined)?.state === 'completed' && receiver.received
  })
  expect(reported.map(({ body }) => body['kind'])).toEqual(['task', 'task', 'task'])
  expect(reported.at(-1)?.body['artifacts']).toHaveLength(1)
  expect(reported.at(-1)?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-a2a-notification-token': 't',
  })
})

test('push: a push that the receiver answers with an error is retried before the next one', async () => {
  const server = await serveA2a({ a2a })
  const receiver = await receive({ answer: (count) => (count % 3 === 0 ? 200 : count % 3 === 1 ? 503 : 429) })
  await send(server.agent(), 'text 3', {}, pushTo(receiver.url))
  await until('the end is told', () => isOver(receiver))
  const taken = sequences(receiver.taken)
  expect(taken).toEqual(taken.map((_sequence, index) => index))
  expect(sequences(receiver.received)).toEqual(taken.flatMap((sequence) => [sequence, sequence, sequence]))
})

test('push: a failed push is retried after the wall clock is set back by an hour', async () => {
  let offset = 0
  const clock = { now: () => Date.now() + offset }
  const patient = { ...limits, retryDelayMs: 100_000, maxRetryDelayMs: 100_000 }
  const server = await serveA2a({ a2a: { push: { loopback: true, limits: patient } }, clock })
  const receiver = await receive({ answer: (count) => (count === 1 ? 503 : 200) })
  await send(server.agent(), 'text 1', {}, pushTo(receiver.url))
  await until('a try has failed', async () => {
    const [found] = (await server.service.allDocuments({ collection: 'a2a.push.delivery', limit: 1 })).documents
    return (found?.body as { failures: number } | undefined)?.failures === 1
  })
  offset = -3_600_000
  await until('the end is told', () => isOver(receiver))
  expect(receiver.taken.length).toBeGreaterThan(1)
})

test('push: a receiver that was down misses nothing', async () => {
  const server = await serveA2a({ a2a: { push: { loopback: true, limits: { ...limits, maxAttempts: 10_000 } } } })
  const first = await receive()
  await first.close()
  const { id } = await send(server.agent(), 'text 3', {}, pushTo(first.url))
  await until('a try has failed', async () => {
    const [found] = (await server.service.allDocuments({ collection: 'a2a.push.delivery', limit: 1 })).documents
    return found?.label === id && (found.body as { failures: number }).failures > 1
  })
  const second = await receive({ port: first.port })
  await until('the end is told', () => isOver(second))
  expect(sequences(second.taken)).toEqual(second.taken.map((_push, index) => index))
})

test('push: a task that waits for an answer is pushed again after the answer', async () => {
  const server = await serveA2a({ a2a })
  const receiver = await receive()
  const { id } = await send(server.agent(), 'ask Go?; text 2', {}, pushTo(receiver.url))
  await until('the question is told', () => states(receiver.taken.map(({ body }) => body)).includes('INPUT_REQUIRED'))
  await until('nobody holds the delivery', async () => {
    const [found] = (await server.service.allDocuments({ collection: 'a2a.push.delivery', limit: 1 })).documents
    return found !== undefined && !('lease' in (found.body as object))
  })
  await send(server.agent(), 'yes', { taskId: id })
  await until('the end is told', () => isOver(receiver))
  expect(states(receiver.taken.map(({ body }) => body)).slice(-3)).toEqual(['INPUT_REQUIRED', 'WORKING', 'COMPLETED'])
  const taken = sequences(receiver.taken)
  expect(taken).toEqual(taken.map((_sequence, index) => index))
})

test('push: a configuration added late gets the current task, then what follows', async () => {
  const server = await serveA2a({ a2a })
  const receiver = await receive()
  const { id: taskId } = await send(server.agent(), 'text 3; ask Go?; text 2')
  await result(server.agent(), 'CreateTaskPushNotificationConfig', { taskId, url: receiver.url })
  await until('the task is shown', () => receiver.taken.length > 0)
  await send(server.agent(), 'yes', { taskId })
  await until('the end is told', () => isOver(receiver))
  const reported = receiver.taken.map(({ body }) => body)
  expect(states(reported)).toEqual(['INPUT_REQUIRED', 'WORKING', 'COMPLETED'])
  const task = await result<Parameters<typeof texts>[0]>(server.agent(), 'GetTask', { id: taskId })
  expect(assembled(reported)).toEqual(texts(task))
})

test('push: a removed configuration gets nothing more', async () => {
  const server = await serveA2a({ a2a })
  const receiver = await receive()
  const { id: taskId } = await send(server.agent(), 'ask Go?; text 2', {}, pushTo(receiver.url))
  await until('the question is told', () => states(receiver.taken.map(({ body }) => body)).includes('INPUT_REQUIRED'))
  await rpc(server.agent(), 'DeleteTaskPushNotificationConfig', { taskId, id: 'c' })
  const other = await receive()
  await result(server.agent(), 'CreateTaskPushNotificationConfig', { taskId, url: other.url })
  const before = receiver.received.length
  await send(server.agent(), 'yes', { taskId })
  await until('the end is told to the other one', () => isOver(other))
  expect(receiver.received).toHaveLength(before)
})

test('[LOG-2] push: a server killed during delivery continues where it was and skips nothing', async () => {
  const store = temporaryDatabase()
  const options = { store, args: ['--a2a-push-loopback'] }
  const first = await startServer(options)
  const stuck = Promise.withResolvers<number>()
  const receiver = await receive({ answer: (count) => (count === 6 ? stuck.promise : 200) })
  await send(`${first.url}/a2a/lab`, 'text 30', {}, pushTo(receiver.url))
  await until('the sixth push is on its way', () => receiver.received.length >= 6)
  await first.kill()
  stuck.resolve(200)
  await startServer(options)
  await until('the end is told', () => isOver(receiver), { withinMs: 180_000 })
  const all = sequences(receiver.received)
  expect(all.slice(0, 7)).toEqual([0, 1, 2, 3, 4, 5, 5])
  expect([...new Set(all)]).toEqual(Array.from({ length: Math.max(...all) + 1 }, (_none, index) => index))
})

/** A server that does not deliver pushes itself. */
const idle: A2aOptions = { push: { limits: { maxDeliveries: 0 } } }

/** Delivers the pushes of a server. */
function nodeOf({ service }: A2aServer, parts: Partial<PushParts> = {}): Pushes {
  const ids = systemIds(systemClock)
  const options = { loopback: true, limits }
  const node = new Pushes({ service, clock: systemClock, ids, logger: silentLogger, shared: true, options, ...parts })
  onTestFinished(() => node.close())
  return node
}

test('push: of several nodes, exactly one delivers', async () => {
  const server = await serveA2a({ a2a: idle })
  const nodes = [nodeOf(server), nodeOf(server)]
  const receivers = await Promise.all([receive(), receive(), receive()])
  for (const { url } of receivers) await send(server.agent(), 'text 10 every 2', {}, pushTo(url))
  for (const receiver of receivers) await until('the end is told', () => isOver(receiver))
  for (const each of nodes) await each.close()
  for (const { received } of receivers) expect(sequences(received)).toEqual(received.map((_push, index) => index))
})

test('push: when two nodes claim a delivery at once, one delivers', async () => {
  const server = await serveA2a({ a2a: idle })
  const receiver = await receive()
  await send(server.agent(), 'text 5', {}, pushTo(receiver.url))
  const [found] = (await server.service.allDocuments({ collection: 'a2a.push.delivery', limit: 1 })).documents
  const { signal } = new AbortController()
  const parts = { service: server.service, clock: systemClock, logger: silentLogger, loopback: true, signal }
  const deliveryOf = (node: string): PushDelivery =>
    new PushDelivery({ ...parts, node, limits: { ...defaultPushLimits, ...limits } }, localPrincipal, found!)
  await Promise.all([deliveryOf('a').run(), deliveryOf('b').run()])
  expect(sequences(receiver.received)).toEqual(receiver.received.map((_push, index) => index))
  expect(isOver(receiver)).toBe(true)
})

test('[SEC-1] push: an undeliverable push is a dead letter of its owner, who can retry it', async () => {
  const folder = temporaryFolder()
  const [mine = '', theirs = ''] = await createKeys(join(folder, 'keys'), ['mine', 'theirs'])
  const auth = { keys: join(folder, 'keys') }
  const patient = { push: { loopback: true, limits: { ...limits, maxAttempts: 3 } } }
  const server = await serveA2a({ auth, a2a: patient })
  let status = 500
  const receiver = await receive({ answer: (count) => (count > 2 ? status : 200) })
  const headers = { authorization: `Bearer ${mine}` }
  const params = { message: message('text 3'), configuration: pushTo(receiver.url) }
  await rpc(server.agent(), 'SendMessage', params, headers)
  const [dead] = await until('it is given up', async () => {
    const found = await deadLetters(server.url, headers)
    return found.length > 0 && found
  })
  expect(dead).toMatchObject({
    configId: 'c',
    delivered: 1,
    attempts: 3,
    error: expect.stringContaining('500') as string,
  })
  const retry = `${server.url}/a2a/dead-letters/${dead!.taskId}/c/retry`
  const stranger = { authorization: `Bearer ${theirs}` }
  expect(await deadLetters(server.url, stranger)).toEqual([])
  expect((await fetch(retry, { method: 'POST', headers: stranger })).status).toBe(404)
  status = 200
  expect((await fetch(retry, { method: 'POST', headers })).status).toBe(202)
  await until('the end is told', () => isOver(receiver))
  expect(await deadLetters(server.url, headers)).toEqual([])
  expect(sequences(receiver.taken)).toEqual(receiver.taken.map((_push, index) => index))
})

test('push: a redirect is not followed', async () => {
  const server = await serveA2a({ a2a })
  const elsewhere = await receive()
  const receiver = await receive({ answer: () => 307, headers: { location: elsewhere.url } })
  await send(server.agent(), 'text 1', {}, pushTo(receiver.url))
  const [dead] = await until('it is given up', async () => {
    const found = await deadLetters(server.url)
    return found.length > 0 && found
  })
  expect(dead?.error).toContain('redirect')
  expect([receiver.received.length, elsewhere.received.length]).toEqual([1, 0])
})

test('push: addresses that are not public get nothing, whatever their name', async () => {
  const server = await serveA2a({ a2a: { push: { limits } } })
  const receiver = await receive()
  const hosts = [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '2130706433',
    '0.0.0.0',
    '10.0.0.1',
    '169.254.169.254',
  ]
  const { id: taskId } = await send(server.agent(), 'ask Go?')
  for (const host of hosts)
    await result(server.agent(), 'CreateTaskPushNotificationConfig', {
      taskId,
      url: `http://${host}:${receiver.port}/`,
    })
  const dead = await until('all are given up', async () => {
    const found = await deadLetters(server.url)
    return found.length === hosts.length && found
  })
  for (const { error } of dead) expect(error).toContain('not a public address')
  expect(receiver.received).toEqual([])
})

test('push: DNS rebinding: a name that resolves to a public address first and to this machine next leads to the former', async () => {
  const server = await serveA2a({ a2a: idle })
  const inside = await receive()
  let looks = 0
  // An address that nobody can have: no network leads there, and nobody takes the push.
  const lookup: Lookup = async () => [
    looks++ === 0 ? { address: '4000::1', family: 6 } : { address: '127.0.0.1', family: 4 },
  ]
  nodeOf(server, { options: { limits: { ...limits, requestTimeoutMs: 500 } }, lookup })
  await send(server.agent(), 'text 1', {}, pushTo(`http://rebound.example:${inside.port}/hook`))
  const [dead] = await until('it is given up', async () => {
    const found = await deadLetters(server.url)
    return found.length > 0 && found
  })
  // The first try was made with what the first look found; the second one found what is refused.
  expect([looks, inside.received.length]).toEqual([2, 0])
  expect(dead).toMatchObject({ attempts: 2, error: expect.stringContaining('not a public address') as string })
})

test('push: a name is resolved once per push, and the push goes to that address', async () => {
  const server = await serveA2a({ a2a: idle })
  const receiver = await receive()
  let looks = 0
  const lookup: Lookup = async () => [{ address: ++looks <= 3 ? '127.0.0.1' : '10.0.0.1', family: 4 }]
  nodeOf(server, { lookup })
  await send(server.agent(), 'text 5', {}, pushTo(`http://rebound.example:${receiver.port}/hook`))
  await until('it is given up', async () => (await deadLetters(server.url)).length > 0)
  expect(sequences(receiver.taken)).toEqual([0, 1, 2])
  expect(looks).toBe(4)
})

test('push: every kind of address that is not public is recognized', () => {
  const refused = (
    '0.0.0.0 10.1.2.3 100.64.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1 198.18.0.1 224.0.0.1 ' +
    '255.255.255.255 :: fc00::1 fd12::1 fe80::1 fec0::1 ff02::1 ::ffff:10.0.0.1 ::10.0.0.1 64:ff9b::a00:1 2002:a00:1:: 2001:0:1:: ' +
    '192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1 ::ffff:0:7f00:1 ::ffff:0:a00:1'
  ).split(' ')
  expect(refused.filter((address) => isAllowed(address, true))).toEqual([])
  const loopback = ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']
  expect(loopback.filter((address) => isAllowed(address, false))).toEqual([])
  expect(loopback.filter((address) => !isAllowed(address, true))).toEqual([])
  const open = ['1.1.1.1', '93.184.216.34', '172.32.0.1', '2606:4700::1111', '::ffff:1.1.1.1']
  expect(open.filter((address) => !isAllowed(address, false))).toEqual([])
})

test('push: credentials that are invalid in a header are rejected when configured', async () => {
  const server = await serveA2a({ a2a })
  const { id: taskId } = await begin(server.agent(), 'ask Go?')
  const config = { taskId, url: 'https://example.com', token: 'a\r\nx: y' }
  expect((await rpc(server.agent(), 'CreateTaskPushNotificationConfig', config, current)).error?.code).toBe(-32602)
})
