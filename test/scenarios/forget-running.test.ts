/** `holdfast forget` at a running server, on every store. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { AuditEntry } from '../../src/core/access/audit.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createKey, listKeys } from '../../src/server/auth/api-keys.ts'
import { configOptions } from '../../src/server/config/config-options.ts'
import { openStore } from '../../src/server/store/open-store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { callWith, NOBODY } from '../cli/called.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { call, followRun, startRun, untilFinished, untilStatus } from '../support/http.ts'
import { startNats, urlOf } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'

const postgres = await startPostgres()
const nats = await startNats()
const holdfast = callWith(NOBODY)

const open = (address: string): Promise<Store> => openStore(configOptions.store.parse(address))

/** A server with an administrator, and what `acme/anna` and `bert` did on it. */
async function fill(store: Store) {
  const file = join(temporaryFolder(), 'keys.json')
  const make = async (wanted: Parameters<typeof createKey>[1]): Promise<string> => (await createKey(file, wanted)).key
  const admin = await make({ name: 'admin', principal: 'operator', scopes: ['admin'] })
  const keys = {
    anna: await make({ name: 'anna', principal: 'anna', tenant: 'acme' }),
    bert: await make({ name: 'b' }),
  }
  const audit: AuditEntry[] = []
  const server = await serveNative({
    store,
    auth: { keys: file },
    audit: (entry) => void audit.push(entry),
  })
  const { url } = server
  const [anna, bert] = [keys.anna, keys.bert].map((token) => ({ url, token }))
  for (const who of [anna!, bert!]) await untilFinished(who, (await startRun(who, 'say kelp')).id)
  await call(anna!, 'POST', '/sessions', { body: { session_name: 'kelp' } })
  const { id: running } = await startRun(anna!, 'say kelp; sleep 600000')
  await untilStatus(anna!, running, ['running'])
  return { server, file, admin, anna: anna!, bert: bert!, running, audit }
}

const WHO = ['--principal', 'anna', '--tenant', 'acme'] as const

describe.each([
  ['memory', async () => createMemoryStore()],
  ['SQLite', () => open(`sqlite:${temporaryDatabase()}`)],
  ['PostgreSQL', () => open(`${postgres.url}?schema=forget_running`)],
  ['NATS', () => open(urlOf([nats]))],
] as const)('%s: holdfast forget at a running server', (_name, opened) => {
  test('removes all data of one principal, ends its streams, and leaves others alone', async () => {
    const store = await opened()
    const { server, file, admin, anna, bert, running, audit } = await fill(store)
    const forget = (...more: string[]) =>
      holdfast('forget', ...WHO, '--url', server.url, ...(more.includes('--key') ? [] : ['--key', admin]), ...more)
    const dry = await forget('--dry-run', '--json')
    expect(JSON.parse(dry.stdout)).toMatchObject({ url: server.url, dryRun: true, runs: 2, unfinished: 1, apiKeys: 1 })
    expect(await forget('--key', anna.token)).toMatchObject({ code: 1, stderr: expect.stringContaining('scope admin') })
    expect(await forget()).toMatchObject({ code: 1, stderr: expect.stringContaining('not ended') as string })
    await untilFinished(anna, (await startRun(anna, 'say kelp')).id) // a refusal changes nothing

    const stream = followRun(anna, running)
    expect(await stream.status()).toBe(200)
    const done = await forget('--stop', '--json')
    expect(done.stderr + done.stdout).toContain('"runs": 3')
    expect(JSON.parse(done.stdout)).toMatchObject({ dryRun: false, tenant: 'acme', unfinished: 1, apiKeys: 1 })
    await stream.ended
    expect((await call(anna, 'GET', '/runs')).status).toBe(401)
    expect((await listKeys(file))!.map(({ name }) => name)).toEqual(['admin', 'b'])
    expect(await store.usage.of('acme/anna')).toMatchObject({ runs: 0, logBytes: 0, documents: 0, documentBytes: 0 })
    expect((await call<{ runs: object[] }>(bert, 'GET', '/runs')).body.runs).toHaveLength(1)

    const entry = { principal: 'operator', subject: 'acme/anna', from: '127.0.0.1' }
    expect(audit.filter(({ action }) => action.startsWith('forget'))).toMatchObject([
      { action: 'forget (dry run)', ...entry, result: 'ok' },
      { action: 'forget', principal: 'acme/anna', subject: 'acme/anna', result: 'forbidden' },
      { action: 'forget', ...entry, result: 'conflict' },
      { action: 'forget', ...entry, result: 'ok' },
    ])
    const again = await forget()
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('0 runs, 0 documents, 0 API keys') })
  })

  test('continues after it was interrupted', async () => {
    const store = await opened()
    const { server, bert, admin } = await fill(store)
    for (let count = 0; count < 120; count++) await startRun(bert, 'say kelp')
    const { runs } = (await call<{ runs: { id: string }[] }>(bert, 'GET', '/runs?limit=200')).body
    for (const { id } of runs) await untilFinished(bert, id)
    const before = (await store.usage.of('key:b')).runs
    const cut = new AbortController()
    const operator = { id: 'operator', scopes: ['admin'] }
    const half = server.service.forget(
      operator,
      { id: 'key:b' },
      {
        dryRun: false,
        stop: false,
        signal: cut.signal,
        onProgress: () => cut.abort(new Error('cut off')),
      },
    )
    await expect(half).rejects.toThrow('cut off')
    expect((await store.usage.of('key:b')).runs).toBe(before - 100)
    const rest = await holdfast('forget', '--principal', 'key:b', '--url', server.url, '--key', admin, '--json')
    expect(JSON.parse(rest.stdout)).toMatchObject({ runs: before - 100, documents: expect.any(Number) as number })
    expect(await store.usage.of('key:b')).toMatchObject({ runs: 0, documents: 0 })
  })
})

test('holdfast forget: a credential cannot forget its own principal, and --vacuum is rejected at a server', async () => {
  const { server, admin } = await fill(createMemoryStore())
  const at = ['--url', server.url, '--key', admin]
  const own = await holdfast('forget', '--principal', 'operator', ...at)
  expect(own).toMatchObject({ code: 1, stderr: expect.stringContaining('its own principal') as string })
  const vacuum = await holdfast('forget', ...WHO, '--vacuum', ...at)
  expect(vacuum).toMatchObject({ code: 2, stderr: expect.stringContaining('stop the server') as string })
})

test('holdfast forget on a SQLite file that a server has open prints how to reach the server', async () => {
  const path = temporaryDatabase()
  await serveNative({ store: await open(`sqlite:${path}`) })
  const { code, stderr } = await holdfast('forget', ...WHO, '--store', `sqlite:${path}`)
  expect(code).toBe(1)
  expect(stderr).toContain('--url')
})
