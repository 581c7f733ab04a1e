/** Hostile gRPC clients: messages are read only after authentication, and in small pieces. */
import { createServer } from 'node:http'
import http2, { type ClientHttp2Session, connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createKeys } from '../../support/keys.ts'
import { heldMegabytes } from '../../support/memory.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { longestTurnMs } from '../../support/event-loop-stall.ts'
import { until } from '../../support/until.ts'
import { type A2aServer, grpcAddress, serveA2a } from './serve.ts'

const KEY = 'open-sesame-0123456789'
const HOUR_MS = 3_600_000

const INVALID_ARGUMENT = '3'
const DEADLINE_EXCEEDED = '4'
const UNAUTHENTICATED = '16'

async function serveGuarded(limits: NonNullable<Parameters<typeof serveA2a>[0]>['limits'] = {}): Promise<A2aServer> {
  const auth = { securityKey: KEY }
  return serveA2a({ auth, limits, a2a: { defaultComponent: 'lab', grpcPort: 0 } })
}

async function session(server: A2aServer): Promise<ClientHttp2Session> {
  const opened = connect(`http://${await grpcAddress(server)}`, { maxSessionMemory: 1000 })
  onTestFinished(() => opened.destroy())
  opened.on('error', () => {})
  return opened
}

interface Sent {
  /** The status of the answer. */
  readonly status: Promise<string>
  /** Its message. */
  readonly message: () => string
  /** Resolves when the server has taken all bytes. */
  readonly taken: Promise<void>
}

/** Announces a message, and sends some of its bytes, or all. */
function send(opened: ClientHttp2Session, bytes: Buffer, { announced = bytes.length, key = '' } = {}): Sent {
  const stream = opened.request({
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/SendMessage',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(key !== '' && { authorization: `Bearer ${key}` }),
  })
  onTestFinished(() => void stream.destroy())
  let message = ''
  const status = new Promise<string>((resolve) => {
    const look = (headers: object): void => {
      const { 'grpc-status': code, 'grpc-message': text } = headers as Readonly<Record<string, string | undefined>>
      message = decodeURIComponent(text ?? '')
      if (code !== undefined) resolve(code)
    }
    stream.on('response', look).on('trailers', look)
    stream.on('error', () => resolve('reset')).on('close', () => resolve('reset'))
    stream.resume()
  })
  const head = Buffer.alloc(5)
  head.writeUInt32BE(announced, 1)
  const taken = new Promise<void>((resolve) => stream.write(Buffer.concat([head, bytes]), () => resolve()))
  if (announced === bytes.length) stream.end()
  return { status, taken, message: () => message }
}

/** A field of protocol buffers that holds bytes. */
function field(number: number, content: Buffer): Buffer {
  const length: number[] = []
  for (let rest = content.length; ; rest >>>= 7) {
    if (rest < 0x80) {
      length.push(rest)
      break
    }
    length.push((rest & 0x7f) | 0x80)
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content])
}

const LARGE = 4 * 1024 * 1024 - 100

/** An empty group of a field that no message has. */
const group = Buffer.from([0x7b, 0x7c])
const millionParts = field(2, Buffer.alloc(LARGE - 20, field(5, Buffer.alloc(0))))

describe('[SEC-2] A2A over gRPC, before authentication', () => {
  test('messages that are never completed are not read, and their calls are rejected', async () => {
    const opened = await session(await serveGuarded({ maxAuthFailureBurst: 1000 }))
    const partial = Buffer.alloc(LARGE)
    const before = await heldMegabytes()
    const sent = Array.from({ length: 60 }, () => send(opened, partial, { announced: LARGE + 1 }))
    expect(new Set(await Promise.all(sent.map(({ status }) => status)))).toEqual(new Set([UNAUTHENTICATED]))
    // The client side of the connection is in this process too, with what it has not sent.
    opened.destroy()
    expect((await heldMegabytes()) - before).toBeLessThan(20)
  })
})

test('[SEC-2] A2A over gRPC: nothing of a message is read while its credential is being checked', async () => {
  let asked = 0
  const keys = createServer(() => void asked++) // never responds
  onTestFinished(() => keys.close().closeAllConnections())
  await new Promise<void>((resolve) => keys.listen(0, '127.0.0.1', resolve))
  const jwks = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/`
  const opened = await session(
    await serveA2a({ auth: { jwt: { jwks } }, a2a: { defaultComponent: 'lab', grpcPort: 0 } }),
  )
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = `${part({ alg: 'RS256', kid: 'k' })}.${part({ sub: 'anna', exp: 9_999_999_999 })}.c2lnbmF0dXJl`
  const sent = send(opened, Buffer.alloc(LARGE), { announced: LARGE + 1, key: token })
  let isTaken = false
  void sent.taken.then(() => (isTaken = true))
  await until('the credential is being checked', () => asked > 0)
  // Each round lets the server read as much as it wants to.
  for (let count = 0; count < 100; count++) await new Promise((resolve) => opened.ping(() => resolve(undefined)))
  expect(isTaken).toBe(false)
})

describe('[SEC-2] A2A over gRPC, after authentication', () => {
  test('the number of messages of one principal that are read at once is limited', async () => {
    const opened = await session(await serveGuarded())
    const partial = Buffer.alloc(LARGE)
    let taken = 0
    const sent = Array.from({ length: 60 }, () => send(opened, partial, { announced: LARGE + 1, key: KEY }))
    for (const each of sent) void each.taken.then(() => taken++)
    await until('as many are read as may be', () => taken >= 16)
    await new Promise((resolve) => opened.ping(() => resolve(undefined)))
    expect(taken).toBe(16)
  })

  test('a principal with sixteen unfinished messages waits for one of them, and another principal does not', async () => {
    const keys = join(temporaryFolder(), 'keys.json')
    const [anna, bert] = await createKeys(keys, ['anna', 'bert'])
    const server = await serveA2a({ auth: { keys }, a2a: { defaultComponent: 'lab', grpcPort: 0 } })
    const opened = await session(server)
    const unfinished = await session(server)
    for (let count = 0; count < 16; count++) send(unfinished, Buffer.alloc(10), { announced: 100, key: anna! })
    await new Promise((resolve) => unfinished.ping(() => resolve(undefined)))
    expect(await send(opened, Buffer.alloc(0), { key: bert! }).status).toBe(INVALID_ARGUMENT)
    let isAnswered = false
    const waiting = send(opened, Buffer.alloc(0), { key: anna! }).status.finally(() => (isAnswered = true))
    expect(await send(opened, Buffer.alloc(0), { key: bert! }).status).toBe(INVALID_ARGUMENT)
    expect(isAnswered).toBe(false)
    unfinished.destroy()
    expect(await waiting).toBe(INVALID_ARGUMENT)
  })

  test('a message that does not arrive in time ends its call, and the next one is read', async () => {
    const opened = await session(await serveGuarded({ grpcMessageTimeoutMs: 200 }))
    const sent = Array.from({ length: 20 }, () => send(opened, Buffer.alloc(10), { announced: 100, key: KEY }))
    expect(new Set(await Promise.all(sent.map(({ status }) => status)))).toEqual(new Set([DEADLINE_EXCEEDED]))
    expect(await send(opened, Buffer.alloc(0), { key: KEY }).status).toBe(INVALID_ARGUMENT)
  })

  test('large messages that are never completed end with their deadline, and their connection stays usable', async () => {
    const opened = await session(await serveGuarded({ grpcMessageTimeoutMs: 1000 }))
    const partial = Buffer.alloc(LARGE)
    const sent = Array.from({ length: 60 }, () => send(opened, partial, { announced: LARGE + 1, key: KEY }))
    expect(new Set(await Promise.all(sent.map(({ status }) => status)))).toEqual(new Set([DEADLINE_EXCEEDED]))
    // On a busy machine a whole message may miss its deadline, too.
    await until(
      'a whole message is read',
      async () => (await send(opened, Buffer.alloc(0), { key: KEY }).status) === INVALID_ARGUMENT,
    )
  })

  const crowded = 'the message has more than'
  const malformed = 'the message is not a SendMessageRequest'
  test.each<[string, Buffer, string]>([
    ['two million empty parts', field(2, Buffer.alloc(LARGE, field(5, Buffer.alloc(0)))), crowded],
    ['a million values in metadata', field(4, field(1, field(2, field(6, values(1_000_000))))), crowded],
    ['many levels', field(4, field(1, nested(500))), crowded],
    ['a group before two million parts', Buffer.concat([group, millionParts]), malformed],
    [
      'two million parts behind a field of another wire type',
      Buffer.concat([disguise(millionParts.length), millionParts]),
      malformed,
    ],
    ['thirty thousand names in metadata', field(4, names(33_000)), crowded],
    ['bytes that are not a message', Buffer.from('ffffffffffffffffffffff', 'hex'), malformed],
    ['a field that is cut', Buffer.from([0x12, 0x7f, 1]), malformed],
    ['a group', Buffer.from([0x0b]), malformed],
  ])('%s: the message is rejected without blocking the event loop', async (_name, bytes, expectedText) => {
    const opened = await session(await serveGuarded())
    expect(await send(opened, Buffer.alloc(0), { key: KEY }).status).toBe(INVALID_ARGUMENT)
    let message = ''
    const longest = await longestTurnMs(async () => {
      const sent = send(opened, bytes, { key: KEY })
      expect(await sent.status).toBe(INVALID_ARGUMENT)
      message = sent.message()
    })
    expect(message).toContain(expectedText)
    expect(longest).toBeLessThan(100)
  })
})

test('[SEC-2] a gRPC connection is limited in its calls, its memory and its age', async () => {
  const created = vi.spyOn(http2, 'createServer')
  const timers = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => [created, timers].forEach((spy) => spy.mockRestore()))
  const opened = await session(await serveGuarded())
  await new Promise((resolve) => opened.once('remoteSettings', resolve))
  expect(opened.remoteSettings.maxConcurrentStreams).toBe(100)
  expect(created.mock.calls.map(([options]) => options)).toMatchObject([{ maxSessionMemory: 64 }])
  const ended = new Promise<void>((resolve) => opened.once('goaway', () => resolve()))
  // gRPC varies the age by up to a tenth.
  const hour = timers.mock.calls.filter(([, delay = 0]) => delay >= 0.9 * HOUR_MS && delay <= 1.1 * HOUR_MS)
  expect(hour).toHaveLength(1)
  hour[0]![0]()
  await ended
})

test('[SEC-2] gRPC connections of one address are limited', async () => {
  const server = await serveGuarded({ maxConnectionsPerAddress: 2 })
  const first = await session(server)
  expect(await send(first, Buffer.alloc(0)).status).toBe(UNAUTHENTICATED)
  expect(await send(await session(server), Buffer.alloc(0)).status).toBe(UNAUTHENTICATED)
  expect(await send(await session(server), Buffer.alloc(0)).status).toBe('reset')
  first.destroy()
  const freed = async (): Promise<boolean> => (await send(await session(server), Buffer.alloc(0)).status) !== 'reset'
  expect(await until('a connection is free', freed)).toBe(true)
})

/** A parser that follows the wire type of the first field skips eight bytes, and then all that follows. */
function disguise(hidden: number): Buffer {
  const length = (bytes: number): number[] => [
    0x80 | (bytes & 0x7f),
    0x80 | ((bytes >> 7) & 0x7f),
    0x80 | ((bytes >> 14) & 0x7f),
    bytes >> 21,
  ]
  const skipped = [0x7a, ...length(hidden)]
  return Buffer.from([(2 << 3) | 1, ...length(4 + skipped.length), 0x2a, 0x00, 0x7a, skipped.length, ...skipped])
}

/** A struct. */
function names(count: number): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, index) =>
      field(1, Buffer.concat([field(1, Buffer.from(`n${index}`)), field(2, Buffer.alloc(0))])),
    ),
  )
}

/** Empty values of a list. */
function values(count: number): Buffer {
  return Buffer.alloc(2 * count, field(1, Buffer.alloc(0)))
}

/** A struct in a struct in a struct. */
function nested(levels: number): Buffer {
  let value = field(3, Buffer.from('x'))
  for (let level = 0; level < levels; level++) value = field(5, field(1, field(2, value)))
  return field(2, value)
}
