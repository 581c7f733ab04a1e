/** A redacted value is in no response of any protocol, no stored byte and no line of the server's log. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { pino } from 'pino'
import { describe, expect, onTestFailed, test } from 'vitest'
import { agent, redactions, type EngineOptions, type HoldfastServer, type Store } from '../../src/index.ts'
import { createEvent } from '../../src/core/ports/component.ts'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { message } from '../protocols/a2a/serve.ts'
import { serveInProcess } from '../support/in-process.ts'
import { startNats } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import { Random, testSeed } from '../support/random.ts'
import { temporaryDatabase } from '../support/temporary.ts'

const postgres = await startPostgres()
const nats = await startNats()

const SECRETS = [
  'sk-proj-Zq7Xw2Lm9Rt4Kp8Vb1Nc6Hd3',
  'ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI5OTg4Nzc2NiJ9.Qm9vbS1zaWduYXR1cmUtMTIz',
  '4242 4242 4242 4242',
]

/** Traces of a secret: its end, which occurs nowhere else. */
const TRACES = SECRETS.map((secret) => secret.slice(-14))

const redact = { patterns: [redactions.apiKeys, redactions.tokens, redactions.cardNumbers] }

/** Emits the secrets in every kind of event, split at random. */
function teller(random: Random) {
  const cut = function* (text: string): Generator<string> {
    for (let at = 0; at < text.length;) {
      const chars = random.between(1, 12)
      yield text.slice(at, (at += chars))
    }
  }
  const member = agent<unknown>({
    id: 'member',
    async *run() {
      for (const secret of SECRETS) yield* cut(`Member: ${secret}. `)
      return SECRETS
    },
  })
  return agent<unknown>({
    id: 'teller',
    recovery: 'resume',
    async *run(_input, context) {
      for (const text of cut(`Thinking of ${SECRETS.join(' and ')}. `))
        yield createEvent('reasoning.delta', { text, message: 'thought' })
      yield createEvent('reasoning.completed', { message: 'thought' })
      for (const text of cut(`They are ${SECRETS.join(', ')}. `))
        yield createEvent('text.delta', { text, message: 'said' })
      yield createEvent('text.completed', { message: 'said' })
      for (const delta of cut(JSON.stringify({ secrets: SECRETS })))
        yield createEvent('tool.drafted', { call: 'c1', name: 'look', delta })
      await context.tool({ name: 'look', id: 'c1', input: { secrets: SECRETS } }, () => SECRETS)
      yield createEvent('artifact.added', {
        artifact: 'a',
        mediaType: 'text/plain',
        text: SECRETS.join('\n'),
        last: true,
      })
      yield createEvent('custom.emitted', { name: 'told', value: SECRETS })
      await Promise.all([
        context.call(member, SECRETS, { name: 'one' }),
        context.call(member, SECRETS, { name: 'two' }),
      ])
      yield* cut(`So: ${SECRETS.join(' / ')}`)
      if (random.chance(0.3)) throw new Error(`lost ${SECRETS.join()}`)
      return { secrets: SECRETS }
    },
  })
}

const requested = `Keep ${SECRETS.join(' ')} for me`

/** One streamed run on each protocol. */
const requests: readonly (readonly [string, string, RequestInit])[] = [
  [
    'native',
    '/runs',
    json({ component: 'teller', input: requested, metadata: { note: requested } }, 'text/event-stream'),
  ],
  [
    'AgentOS',
    '/agents/teller/runs',
    { method: 'POST', body: form({ message: requested, stream: 'true', session_id: 's' }) },
  ],
  [
    'OpenAI chat',
    '/v1/chat/completions',
    json({ model: 'teller', stream: true, messages: [{ role: 'user', content: requested }] }),
  ],
  ['OpenAI Responses', '/v1/responses', json({ model: 'teller', input: requested, stream: true })],
  [
    'AI SDK UI',
    '/ai/teller/chat',
    json({ id: 'chat', messages: [{ role: 'user', parts: [{ type: 'text', text: requested }] }] }),
  ],
  [
    'A2A',
    '/a2a/teller',
    json(
      { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message: message(requested) } },
      'text/event-stream',
    ),
  ],
]

/** Requests that read the stored run. */
const reads = [
  '/runs',
  '/sessions?type=agent',
  '/sessions/s?type=agent',
  '/sessions/s/runs?type=agent',
  '/ai/teller/chat/chat/messages',
]

function json(body: unknown, accept = '*/*'): RequestInit {
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', accept }
  return { method: 'POST', headers, body: JSON.stringify(body) }
}

function form(fields: Record<string, string>): URLSearchParams {
  return new URLSearchParams(fields)
}

function expectRedacted(what: string, text: string): void {
  expect(text, `${what} shows that something was redacted`).toContain('[redacted:')
  expect(
    TRACES.filter((trace) => text.includes(trace)),
    `${what} gives secrets away`,
  ).toEqual([])
}

async function serve(
  store: Store,
  more: Partial<EngineOptions> = {},
): Promise<{ server: HoldfastServer; lines: string[] }> {
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line) => void lines.push(line) })
  const seed = testSeed()
  onTestFailed(() => console.info(`HOLDFAST_TEST_SEED=${seed}`))
  const components = [teller(new Random(seed))]
  return { server: await serveInProcess({ store, components, redact, logger, ...more }), lines }
}

async function useAll({ url }: HoldfastServer): Promise<void> {
  for (let round = 0; round < 4; round++)
    for (const [protocol, path, request] of requests) {
      const response = await fetch(url + path, request)
      const text = await response.text()
      expect(response.status, `${protocol}: ${text.slice(0, 300)}`).toBeLessThan(300)
      expectRedacted(`the stream of ${protocol}`, text)
    }
  await fetch(`${url}/sessions/s/rename?type=agent`, json({ session_name: requested.slice(0, 60) }))
  for (const path of reads) {
    const response = await fetch(url + path)
    expect(response.status, path).toBe(200)
    const text = await response.text()
    expect(
      TRACES.filter((trace) => text.includes(trace)),
      path,
    ).toEqual([])
  }
}

function bytesOf(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    .join('\n')
}

describe('[SEC-3] with redaction, secrets that are split at random', () => {
  test('reach no protocol, no file of the SQLite store and no line of the server’s log', async () => {
    const path = temporaryDatabase()
    const { server, lines } = await serve(await openSqliteStore({ path }))
    await useAll(server)
    expectRedacted('the database and its write-ahead log', bytesOf(dirname(path)))
    await server.close()
    expectRedacted('the closed database', bytesOf(dirname(path)))
    expect(TRACES.filter((trace) => lines.join('').includes(trace))).toEqual([])
  })

  test('reach no row of PostgreSQL', async () => {
    const { server } = await serve(await openPostgresStore({ url: postgres.url, schema: 'redaction' }))
    await useAll(server)
    expectRedacted('PostgreSQL', await rowsOf(postgres.url, 'redaction'))
  })

  test('reach no message of NATS', async () => {
    const { server } = await serve(await openNatsStore({ servers: [nats.address], name: 'redaction', partitions: 2 }))
    await useAll(server)
    expectRedacted('NATS', bytesOf(nats.folder))
  })
})

/** All rows of all tables, bytes as text. */
async function rowsOf(url: string, schema: string): Promise<string> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const tables = await client.query<{ name: string }>(
      'select table_name as name from information_schema.tables where table_schema = $1',
      [schema],
    )
    expect(tables.rows.length).toBeGreaterThan(3)
    const texts: string[] = []
    for (const { name } of tables.rows)
      for (const row of (await client.query<Record<string, unknown>>(`select * from ${schema}."${name}"`)).rows)
        texts.push(
          ...Object.values(row).map((value) =>
            Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value),
          ),
        )
    return texts.join('\n')
  } finally {
    await client.end()
  }
}
