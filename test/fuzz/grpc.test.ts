/** Every gRPC method of A2A 1.0 and 0.3 with nearly valid messages and random bytes: each call gets a status. */
import { type ClientHttp2Session, connect } from 'node:http2'
import fc from 'fast-check'
import { afterAll, test } from 'vitest'
import { loadGrpc } from '../../src/a2a/grpc/packages.ts'
import { current, legacy } from '../../src/a2a/grpc/schema.ts'
import { assertHolds, fuzzSeconds, fuzzTimeoutMs } from './check.ts'
import { KEY, type Ready } from './messages.ts'
import { mutated, type Mutation, mutations } from './mutation.ts'
import { FuzzedServer } from './server.ts'
import { Subjects } from './subjects.ts'
import { withTimeout } from './timeout.ts'
import { holdsBriefly } from './response-checks.ts'

const server = new FuzzedServer()
const subjects = new Subjects()
let session: { readonly address: string; readonly opened: ClientHttp2Session } | undefined
afterAll(async () => {
  session?.opened.destroy()
  await server.stop()
})

const seconds = fuzzSeconds(6)
const { define } = await loadGrpc()
const services = { '1.0': current, '0.3': legacy } as const
const definitions = { '1.0': define(current), '0.3': define(legacy) } as const

const method = fc.oneof(
  ...(Object.keys(services) as (keyof typeof services)[]).map((version) =>
    fc.constantFrom(...Object.keys(services[version].methods)).map((name) => ({ version, name })),
  ),
)

type Bytes =
  | { readonly kind: 'message'; readonly changes: readonly Mutation[] }
  | { readonly kind: 'flipped'; readonly places: readonly (readonly [number, number])[] }
  | { readonly kind: 'random'; readonly hex: string }

const bytes: fc.Arbitrary<Bytes> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('message' as const), changes: mutations }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('flipped' as const),
      places: fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('random' as const), hex: fc.stringMatching(/^([0-9a-f]{2}){0,60}$/) }),
  },
)

const call = fc.record({
  method,
  bytes,
  /** Claimed length of the message minus its real one. */
  off: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(-1, 2 ** 31) }),
  flag: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(1, 255) }),
  authorized: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
})

type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never

/** UNKNOWN, INTERNAL and DATA_LOSS: errors that the server did not expect. */
const FAULTS = ['2', '13', '15']

test(
  'fuzz: every gRPC method returns a status for fuzzed messages, without blocking the event loop',
  { timeout: fuzzTimeoutMs(seconds) },
  async () => {
    await server.ready()
    await assertHolds('gRPC', call, seconds, async (given) => {
      const ready = await server.ready()
      const { run } = await subjects.get(ready, '/a2a/', 'paused')
      const message = encoded(given, run)
      const shown = `${given.method.version} ${given.method.name} ${message.subarray(0, 500).toString('hex')}`
      await holdsBriefly(server, shown, async (at) => {
        const { status, text } = await statusOf(at, given, message)
        return FAULTS.includes(status) && !isFramingError(given, text)
          ? `ended with status ${status}: ${text}`
          : undefined
      })
      if (given.method.name === 'CancelTask') subjects.changed(run)
    })
  },
)

/** The library itself responds INTERNAL to a message that is falsely marked as compressed. */
function isFramingError({ flag, off }: Call, text: string): boolean {
  return (flag !== 0 || off !== 0) && !text.includes('internal error')
}

const webhook = { id: 'hook', url: 'https://example.com/hook' }

/** A request that is right, with every field that any method takes. */
function validRequest({ version, name }: Call['method'], run: string): object {
  const text = 'say kelp; ask'
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER' }
  if (version === '1.0') {
    if (name.startsWith('Send'))
      return {
        message: { ...message, parts: [{ text }] },
        configuration: { returnImmediately: true, historyLength: 3 },
      }
    if (name === 'ListTasks') return { pageSize: 5, contextId: '', includeArtifacts: true }
    return { id: name.includes('Push') ? 'hook' : run, taskId: run, url: webhook.url }
  }
  if (name.startsWith('Send'))
    return { message: { ...message, content: [{ text }] }, configuration: { blocking: false } }
  if (name.startsWith('Create'))
    return { parent: `tasks/${run}`, configId: 'hook', config: { pushNotificationConfig: webhook } }
  if (name.startsWith('List')) return { parent: `tasks/${run}`, pageSize: 5 }
  return { name: name.includes('Push') ? `tasks/${run}/pushNotificationConfigs/hook` : `tasks/${run}` }
}

function encoded({ method: { version, name }, bytes: given }: Call, run: string): Buffer {
  if (given.kind === 'random') return Buffer.from(given.hex, 'hex')
  const [type] = services[version].methods[name]!
  const { codecs } = definitions[version]
  const codec = codecs[type.includes('.') ? type : `${services[version].package}.${type}`]!
  const valid = validRequest({ version, name }, run)
  if (given.kind === 'flipped') {
    const flipped = codec.serialize(valid)
    for (const [at, value] of given.places) if (flipped.length > 0) flipped[at % flipped.length] = value
    return flipped
  }
  try {
    return codec.serialize(mutated(valid, given.changes) as object)
  } catch {
    return codec.serialize(valid) // not every value can be put into a message
  }
}

interface Ended {
  readonly status: string
  readonly text: string
}

/** The status of a call, `open` for a stream that has started, or `reset` if the connection or the stream was ended. */
function statusOf(
  ready: Ready,
  { method: { version, name }, off, flag, authorized }: Call,
  message: Buffer,
): Promise<Ended> {
  const stream = sessionOf(ready).request({
    ':method': 'POST',
    ':path': `/${services[version].package}.A2AService/${name}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(authorized && { authorization: `Bearer ${KEY}` }),
  })
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const look = (headers: object): void => {
    const { 'grpc-status': status, 'grpc-message': text = '' } = headers as Readonly<Record<string, string | undefined>>
    if (status !== undefined) resolve({ status, text: decodeURIComponent(text) })
  }
  stream.on('response', look).on('trailers', look)
  stream.on('data', () => resolve({ status: 'open', text: '' }))
  stream
    .on('error', () => resolve({ status: 'reset', text: '' }))
    .on('close', () => resolve({ status: 'reset', text: '' }))
  const head = Buffer.alloc(5)
  head[0] = flag
  head.writeUInt32BE(Math.max(0, Math.min(message.length + off, 2 ** 32 - 1)), 1)
  stream.end(Buffer.concat([head, message]))
  return withTimeout(promise, 30_000, 'a call got no status').finally(() => stream.destroy())
}

function sessionOf({ grpc }: Ready): ClientHttp2Session {
  if (session?.address === grpc && !session.opened.destroyed && !session.opened.closed) return session.opened
  session?.opened.destroy()
  const opened = connect(`http://${grpc}`)
  opened.on('error', () => {})
  session = { address: grpc, opened }
  return opened
}
