/** The WebSockets of chats and responses under fuzzed requests: every request gets a response, and the server survives. */
import fc from 'fast-check'
import { afterAll, test } from 'vitest'
import { WebSocket } from 'ws'
import { assertHolds, fuzzSeconds, fuzzTimeoutMs } from './check.ts'
import { KEY } from './messages.ts'
import { mutated, mutations } from './mutation.ts'
import { FuzzedServer } from './server.ts'
import { withTimeout } from './timeout.ts'
import { json, jsonText, text } from './values.ts'
import { holdsBriefly, insidesIn } from './response-checks.ts'

const server = new FuzzedServer()
afterAll(() => server.stop())

const seconds = fuzzSeconds(3)

const requests = fc.array(
  fc.record({
    type: fc.constantFrom('send', 'resume', 'abort', 'none'),
    changes: mutations,
    /** Instead of a JSON object. */
    raw: fc.option(fc.oneof(text, json.map(jsonText)), { nil: undefined, freq: 6 }),
  }),
  { minLength: 1, maxLength: 6 },
)

const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'say kelp' }] }
const valid: Readonly<Record<string, object>> = {
  send: { type: 'send', requestId: 'r1', chatId: 'c1', messages: [message], trigger: 'submit-message' },
  resume: { type: 'resume', requestId: 'r2', chatId: 'c1', lastSequence: 0 },
  abort: { type: 'abort', requestId: 'r1' },
  none: {},
}

test(
  'fuzz: the WebSocket of a chat answers after each fuzzed request, or closes',
  {
    timeout: fuzzTimeoutMs(seconds),
  },
  () =>
    assertHolds('chat requests', requests, seconds, async (given) => {
      const messages = given.map(({ type, changes, raw }) => raw ?? jsonText(mutated(valid[type], changes)))
      const shown = messages.map((each) => each.slice(0, 1000)).join('\n')
      await holdsBriefly(server, shown, ({ url }) => converse(url, messages))
    }),
)

const creations = fc.array(fc.record({ type: fc.constantFrom('create', 'steer', 'none'), changes: mutations }), {
  minLength: 1,
  maxLength: 6,
})

const validCreations: Readonly<Record<string, object>> = {
  create: { type: 'response.create', stream_id: 'a', model: 'lab', input: 'say kelp', store: false },
  steer: { type: 'response.steer', previous_response_id: 'resp_0', input: 'shorter' },
  none: {},
}

test(
  'fuzz: the WebSocket of responses answers after each fuzzed request, or closes',
  { timeout: fuzzTimeoutMs(seconds) },
  () =>
    assertHolds('response requests', creations, seconds, async (given) => {
      const messages = given.map(({ type, changes }) => jsonText(mutated(validCreations[type], changes)))
      const shown = messages.map((each) => each.slice(0, 1000)).join('\n')
      await holdsBriefly(server, shown, ({ url }) => converse(url, messages, '/v1/responses'))
    }),
)

/** After each message, a request that is always refused shows that the connection still responds. */
async function converse(url: string, messages: readonly string[], path = '/ai/lab/chat'): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${KEY}` }
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers })
  const got: string[] = []
  let wake = (): void => {}
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  const opened = new Promise<void>((resolve) => socket.on('open', () => resolve()))
  socket.on('error', () => {}) // `close` follows
  socket.on('message', (data) => (got.push((data as Buffer).toString()), wake()))
  const answered = (probe: string): Promise<void> =>
    new Promise((resolve) => (wake = () => got.some((frame) => frame.includes(probe)) && resolve()))
  try {
    await withTimeout(Promise.race([opened, closed]), 30_000, 'the upgrade was not answered')
    for (const [index, each] of messages.entries()) {
      if (socket.readyState !== socket.OPEN) break
      const probe = `probe-${index}`
      const last = answered(probe)
      socket.send(each)
      socket.send(JSON.stringify({ requestId: probe, stream_id: probe, type: 'nonsense' }))
      await withTimeout(Promise.race([closed, last]), 30_000, 'a request was not answered')
    }
  } finally {
    socket.terminate()
  }
  const all = got.join('\n')
  if (all.includes('internal error')) return `answered with an internal error: ${all.slice(0, 500)}`
  if (insidesIn(all, messages.join('\n')) !== undefined) return `shows the inside of the server: ${all.slice(0, 500)}`
  return undefined
}
