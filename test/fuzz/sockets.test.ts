/** WebSockets under fuzzed requests and frames: each gets a response or the connection is closed, and the server survives. */
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { assertHolds, fuzzSeconds, fuzzTimeoutMs } from './check.ts'
import { exchange } from './exchange.ts'
import { KEY, type Ready } from './messages.ts'
import { mutated, mutations } from './mutation.ts'
import { FuzzedServer } from './server.ts'
import { Subjects } from './subjects.ts'
import { withTimeout } from './timeout.ts'
import { json, jsonText, text } from './values.ts'
import { holdsBriefly, insidesIn } from './response-checks.ts'

const server = new FuzzedServer()
const subjects = new Subjects()
afterAll(() => server.stop())

const seconds = fuzzSeconds(5)
const FAMILIES = ['agent', 'team', 'workflow'] as const
type Family = (typeof FAMILIES)[number]
const COMPONENTS: Readonly<Record<Family, string>> = { agent: 'lab', team: 'lab-team', workflow: 'lab-workflow' }

const command = fc.record({
  action: fc.constantFrom('start', 'continue', 'reconnect', 'authenticate', 'ping', 'none'),
  changes: mutations,
  /** Instead of a JSON object. */
  raw: fc.option(fc.oneof(text, json.map(jsonText)), { nil: undefined, freq: 6 }),
})

const conversation = fc.record({
  family: fc.constantFrom(...FAMILIES),
  authorized: fc.oneof({ weight: 6, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  commands: fc.array(command, { minLength: 1, maxLength: 6 }),
})

test(
  'fuzz: every WebSocket responds to each fuzzed request, or closes',
  { timeout: fuzzTimeoutMs(seconds) },
  async () => {
    // Two more are in chat-sockets.test.ts. What /upstream passes on is checked in test/gateway/passed-sockets.test.ts.
    expect((await server.ready()).sockets).toHaveLength(FAMILIES.length + 3)
    await assertHolds('WebSocket requests', conversation, seconds, async ({ family, authorized, commands }) => {
      const ready = await server.ready()
      const { run, session } = await subjects.get(ready, `/${family}s/`, 'paused')
      const component = { [`${family}_id`]: COMPONENTS[family] }
      const valid: Record<string, object> = {
        start: { action: `start-${family}`, ...component, message: 'say kelp', session_id: session, user_id: 'u' },
        continue: { action: `continue-${family}`, ...component, run_id: run, session_id: session, input: 'yes' },
        reconnect: { action: 'reconnect', ...component, run_id: run, session_id: session, last_event_index: 1 },
        authenticate: { action: 'authenticate', token: 'wrong' },
        ping: { action: 'ping' },
        none: {},
      }
      const messages = commands.map(({ action, changes, raw }) => raw ?? jsonText(mutated(valid[action], changes)))
      const shown = `${family}\n${messages.map((message) => message.slice(0, 1000)).join('\n')}`
      await holdsBriefly(server, shown, ({ url }) => converse(`${url}/${family}s/ws`, messages, authorized))
      if (commands.some(({ action }) => action === 'continue')) subjects.changed(run)
    })
  },
)

/** Sends messages in sequence; a problem if one gets no response and the connection stays open. */
async function converse(url: string, messages: readonly string[], authorized: boolean): Promise<string | undefined> {
  const socket = new WebSocket(url.replace('http', 'ws'))
  const got: string[] = []
  let wake = (): void => {}
  const closed = new Promise<void>((resolve) => socket.on('close', () => (resolve(), wake())))
  socket.on('error', () => {})
  socket.on('message', (data) => (got.push((data as Buffer).toString()), wake()))
  const more = (count: number): Promise<void> =>
    withTimeout(
      Promise.race([closed, new Promise<void>((resolve) => (wake = () => got.length > count && resolve()))]),
      30_000,
      'a WebSocket request was not answered',
    )
  try {
    if (got.length === 0) await more(0)
    const login = authorized ? [JSON.stringify({ action: 'authenticate', token: KEY })] : []
    for (const message of [...login, ...messages]) {
      if (socket.readyState !== socket.OPEN) break
      const answered = more(got.length)
      socket.send(message)
      await answered
    }
  } finally {
    socket.terminate()
  }
  const all = got.join('\n')
  if (all.includes('"error_type":"internal"')) return `answered with an internal error: ${all.slice(0, 500)}`
  if (insidesIn(all, messages.join('\n')) !== undefined) return `shows the inside of the server: ${all.slice(0, 500)}`
  return undefined
}

/** Any first bytes of a frame, with any length that it claims. */
const frame = fc
  .record({
    opcode: fc.nat(15),
    flags: fc.constantFrom(0x80, 0x80, 0x80, 0, 0xc0, 0xf0),
    isMasked: fc.oneof({ weight: 8, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    claimed: fc.option(fc.constantFrom(0, 1, 125, 126, 65_536, 2 ** 31, 2 ** 53), { nil: undefined }),
    payload: fc.oneof(
      text,
      fc.constantFrom(JSON.stringify({ action: 'authenticate', token: KEY }), '{"action":"ping"}'),
    ),
  })
  .map(({ opcode, flags, isMasked, claimed, payload }) => {
    const bytes = Buffer.from(payload)
    const length = claimed ?? bytes.length
    const mask = isMasked ? 0x80 : 0
    const head =
      length < 126
        ? Buffer.from([flags | opcode, mask | length])
        : Buffer.concat([Buffer.from([flags | opcode, mask | 127]), bigEndian(length)])
    return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0), bytes]).toString('hex')
  })

function bigEndian(length: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(length))
  return bytes
}

const frames = fc.array(
  fc.oneof({ weight: 6, arbitrary: frame }, { weight: 1, arbitrary: fc.stringMatching(/^([0-9a-f]{2}){0,40}$/) }),
  {
    minLength: 1,
    maxLength: 8,
  },
)

test('fuzz: a WebSocket with fuzzed frames affects no other', { timeout: fuzzTimeoutMs(seconds) }, async () => {
  await server.ready()
  await assertHolds('WebSocket frames', frames, seconds, (sent) =>
    holdsBriefly(server, sent.join('\n'), async (ready) => {
      await sendFrames(ready, sent)
      const health = await exchange(ready.url, { method: 'GET', path: '/health', headers: {}, body: undefined })
      return health.status === 200 ? undefined : `afterwards /health says ${health.status}`
    }),
  )
})

/** Resolves when the server has closed the connection, once we have ended ours. */
async function sendFrames({ url, sockets }: Ready, sent: readonly string[]): Promise<void> {
  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1')
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('error', () => {}).resume()
  socket.write(
    `GET ${sockets[0]!} HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  await withTimeout(
    Promise.race([closed, new Promise<void>((resolve) => socket.once('data', () => resolve()))]),
    30_000,
    'the upgrade was not answered',
  )
  for (const hex of sent) socket.write(Buffer.from(hex, 'hex'))
  socket.end()
  await withTimeout(closed, 30_000, 'the connection was not closed').finally(() => socket.destroy())
}
