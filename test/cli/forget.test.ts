/** `holdfast forget` removes everything of a principal from a store, even if it is killed in between. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { SESSIONS } from '../../src/core/model/document.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import { createKey } from '../../src/server/auth/api-keys.ts'
import { openStore } from '../../src/server/store/open-store.ts'
import { configOptions } from '../../src/server/config/config-options.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { startNats, urlOf } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'
import { callWith, NOBODY } from './called.ts'

const call = callWith(NOBODY)
const postgres = await startPostgres()
const nats = await startNats()

/** In everything that the principal stores. */
const SECRET = 'xyzzy-private'

const open = (address: string): Promise<Store> => openStore(configOptions.store.parse(address))

async function write(store: Store, owner: string, id: string, text: string, ends = true): Promise<void> {
  const idempotency = { key: `${text}-key-${id}`, fingerprint: text }
  const created = newRun(id, new Date().toISOString(), {
    owner,
    session: `${text}-session`,
    idempotency,
    ...(ends && { claim: { worker: 'worker', ttlMs: 60_000 } }),
  })
  const { stored } = await store.create(created)
  if (!ends) return
  const runWriter = new RunWriter(store, systemClock, stored, [created.record])
  runWriter.start()
  for (let count = 0; count < 3; count++) runWriter.text(`${text} ${count}`)
  runWriter.complete()
  await runWriter.flush()
}

/** Runs, a session and webhooks of `acme/anna`, and a run of another principal. */
async function fill(address: string, runs: number): Promise<void> {
  const store = await open(address)
  await write(store, 'bert', 'run_bert', 'public')
  await Promise.all(Array.from({ length: runs }, (_, count) => write(store, 'acme/anna', `run_${count}`, SECRET)))
  await store.documents.put({ owner: 'acme/anna', collection: 'a2a.push', id: 'w', body: { url: SECRET } })
  await store.documents.put({ owner: 'anna', collection: SESSIONS, id: 'another tenant', body: {} })
  await store.close()
}

/** Every value of every row. */
function rowsOf(path: string): string {
  using database = new DatabaseSync(path, { readOnly: true })
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  return tables
    .flatMap(({ name }) => database.prepare(`SELECT * FROM "${String(name)}"`).all())
    .flatMap((row) => Object.values(row))
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
    .join('\n')
}

const WHO = ['--principal', 'anna', '--tenant', 'acme'] as const

describe.each([
  ['SQLite', () => `sqlite:${temporaryDatabase()}`],
  ['PostgreSQL', () => `${postgres.url}?schema=forget`],
  ['NATS', () => urlOf([nats])],
])('%s: holdfast forget', (_name, addressOf) => {
  test('removes all data of one principal and none of others', async () => {
    const address = addressOf()
    await fill(address, 5)
    const store = await open(address)
    await write(store, 'acme/anna', 'run_waiting', SECRET, false)
    await store.close()

    const dry = await call('forget', ...WHO, '--store', address, '--dry-run', '--json')
    expect(JSON.parse(dry.stdout)).toMatchObject({ dryRun: true, runs: 6, unfinished: 1, documents: 2, tenant: 'acme' })
    const refused = await call('forget', ...WHO, '--store', address)
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--stop') as string })
    const done = await call('forget', ...WHO, '--store', address, '--stop', '--json')
    expect(done.stderr + done.stdout).toContain('"runs": 6')
    expect(JSON.parse(done.stdout)).toMatchObject({ dryRun: false, runs: 6, unfinished: 1, documents: 2 })

    const after = await open(address)
    expect((await after.list({ owner: 'acme/anna', limit: 10 })).runs).toEqual([])
    expect(await after.usage.of('acme/anna')).toMatchObject({ runs: 0, logBytes: 0, documents: 0, documentBytes: 0 })
    expect(await after.findByKey('acme/anna', `${SECRET}-key-run_0`)).toBeUndefined()
    expect(await after.get('run_bert')).toBeDefined()
    expect(await after.documents.get('anna', SESSIONS, 'another tenant')).toBeDefined()
    await after.close()
    const again = await call('forget', ...WHO, '--store', address)
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('0 runs, 0 documents') as string })
  })
})

test('holdfast forget: after a kill in the middle, the next call leaves nothing in the live rows of a SQLite file', async () => {
  const path = temporaryDatabase()
  const address = `sqlite:${path}`
  await fill(address, 250)
  const program = join(import.meta.dirname, '../support/programs/forget-killed.ts')
  expect(spawnSync(process.execPath, [program, address, 'acme/anna'])).toMatchObject({ signal: 'SIGKILL' })
  expect(rowsOf(path)).toContain(SECRET)
  const rest = await call('forget', ...WHO, '--store', address, '--json')
  const { runs } = JSON.parse(rest.stdout) as { runs: number }
  expect(runs).toBe(150)
  expect(rowsOf(path)).not.toContain(SECRET)
  expect(rowsOf(path)).not.toContain('acme/anna')
  await call('forget', ...WHO, '--store', address, '--vacuum')
  expect(readFileSync(path, 'latin1')).not.toContain(SECRET)
  const store = await open(address)
  expect(await store.get('run_bert')).toBeDefined()
  await store.close()
})

test('holdfast forget removes the principal’s API keys and no others', async () => {
  const address = `sqlite:${temporaryDatabase()}`
  await fill(address, 1)
  const keys = join(temporaryFolder(), 'keys.json')
  await createKey(keys, { name: 'anna-laptop', principal: 'anna', tenant: 'acme' })
  await createKey(keys, { name: 'anna-elsewhere', principal: 'anna' })
  const dry = await call('forget', ...WHO, '--store', address, '--auth-keys', keys, '--dry-run')
  expect(dry.stdout).toContain('1 runs, 2 documents, 1 API keys')
  expect(readFileSync(keys, 'utf8')).toContain('anna-laptop')
  expect((await call('forget', ...WHO, '--store', address, '--auth-keys', keys)).code).toBe(0)
  expect(readFileSync(keys, 'utf8')).not.toContain('anna-laptop')
  expect(readFileSync(keys, 'utf8')).toContain('anna-elsewhere')
})

test.each([
  [['forget'], '--principal ID is missing'],
  [['forget', '--principal', 'anna', '--store', 'memory:'], 'a memory store'],
  [['forget', '--principal', 'anna', '--store', 'sqlite:/nowhere/x.db'], 'there is no store'],
])('holdfast forget rejects %j', async (argv, message) => {
  const { code, stderr } = await call(...argv)
  expect(code).toBeGreaterThan(0)
  expect(stderr).toContain(message)
})
