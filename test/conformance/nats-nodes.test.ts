/** Several nodes on one server: hints between them, and creation and checks of the streams. */
import { connect, headers } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { inspectNats, openNatsStore, type OpenNatsOptions } from '../../src/stores/nats/index.ts'
import { LAYOUT_VERSION } from '../../src/stores/nats/setup.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { startNats } from '../support/nats.ts'
import { startServer } from '../support/process.ts'
import { testNodes } from './shared-nodes.ts'

const server = await startNats()
const guarded = await startNats({ credentials: { user: 'anna', password: 'hunter2' } })
let names = 0
const newName = (): string => `nodes-${++names}`

async function open(name: string, options: Partial<OpenNatsOptions> = {}): Promise<Store> {
  const store = await openNatsStore({ servers: [server.address], name, ...options })
  onTestFinished(() => store.close())
  return store
}

describe('NATS: nodes that share a server', () => {
  testNodes({ newPlace: newName, open, settled: () => Promise.resolve() })

  test('[RUN-4] agree on idempotency keys, on the order of a lane, and on busy sessions', async () => {
    const name = newName()
    const stores = await Promise.all([1, 2, 3].map(() => open(name)))
    const draft = (id: string, more: object): ReturnType<typeof newRun> => newRun(id, new Date().toISOString(), more)
    const idempotency = { key: 'one', fingerprint: 'body' }
    const withKey = await Promise.all(stores.map((store, at) => store.create(draft(`run_k${at}`, { idempotency }))))
    expect(withKey.filter(({ kind }) => kind === 'created')).toHaveLength(1)
    expect(new Set(withKey.map(({ stored }) => stored.run.id)).size).toBe(1)
    const busy = { lane: 'busy', rejectIfBusy: true }
    const inBusy = await Promise.all(stores.map((store, at) => store.create(draft(`run_b${at}`, busy))))
    expect(inBusy.map(({ kind }) => kind).toSorted()).toEqual(['busy', 'busy', 'created'])
    for (let at = 0; at < 6; at++) await stores[at % 3]!.create(draft(`run_l${at}`, { lane: 'line' }))
    for (let at = 0; at < 6; at++) {
      const claims = await Promise.all(
        [0, 1, 2, 3, 4, 5].map((other) => stores[other % 3]!.claim(`run_l${other}`, `worker-${other}`, 60_000)),
      )
      const given = claims.flatMap((claim) => claim ?? [])
      expect(given.map(({ run }) => run.id)).toEqual([`run_l${at}`])
      const runWriter = new RunWriter(stores[(at + 1) % 3]!, systemClock, given[0]!, [''])
      runWriter.cancel()
      await runWriter.flush()
    }
  })

  test('list what others have just written', async () => {
    const name = newName()
    const [here, there] = [await open(name), await open(name)]
    for (let at = 0; at < 20; at++) {
      await here.create(newRun(`run_${at}`, new Date().toISOString()))
      expect((await there.list({ limit: 100 })).runs).toHaveLength(at + 1)
      await here.documents.put({ owner: 'anna', collection: 'notes', id: `${at}`, body: at })
      expect((await there.documents.list({ collection: 'notes', limit: 0 })).total).toBe(at + 1)
    }
  })
})

test('[LOG-5] NATS: a long log is read message by message by a node that has seen none of it', async () => {
  const name = newName()
  const store = await open(name)
  const draft = newRun('run_1', new Date().toISOString(), { claim: { worker: 'worker-1', ttlMs: 60_000 } })
  const runWriter = new RunWriter(store, systemClock, (await store.create(draft)).stored, [draft.record])
  runWriter.start()
  for (let round = 0; round < 700; round++) {
    runWriter.text(`${round} `)
    await runWriter.flush()
  }
  const fresh = await open(name)
  for (const after of [600, 255, 256, 257, 699, 100, 0, -1]) {
    const slice = await fresh.read('run_1', after, 500)
    expect(Buffer.from(slice!.bytes).toString()).toBe(
      runWriter.records.slice(after + 1, after + 1 + slice!.count).join(''),
    )
  }
  expect(await readRecords(fresh, 'run_1')).toEqual(runWriter.records)
  // A node that continues it lists messages that it has not seen itself.
  await store.release('run_1', runWriter.epoch)
  const another = await open(name)
  const successor = new RunWriter(
    another,
    systemClock,
    (await another.claim('run_1', 'worker-2', 60_000))!,
    runWriter.records,
  )
  for (let round = 0; round < 70; round++) {
    successor.text(`more ${round} `)
    await successor.flush()
  }
  successor.complete()
  await successor.flush()
  expect(await readRecords(await open(name), 'run_1')).toEqual(successor.records)
})

test('[RUN-1] NATS: a run whose node has never renewed can be claimed once its lease has expired', async () => {
  const [name, clock] = [newName(), createFakeClock()]
  const store = await open(name, { clock, partitions: 1 })
  await store.renew('worker-1', 60_000)
  const draft = newRun('run_1', clock.iso(), { claim: { worker: 'worker-1', ttlMs: 10_000 } })
  const runWriter = new RunWriter(store, clock, (await store.create(draft)).stored, [draft.record])
  runWriter.start()
  await runWriter.flush()
  // Another node swept the message as that of an idle owner; then worker-1 died.
  const connection = await connect({ servers: server.address })
  onTestFinished(() => connection.close())
  const purge = await connection.request(
    `$JS.API.STREAM.PURGE.${name}-state-0`,
    JSON.stringify({ filter: `${name}.state.0.owner.>` }),
    { timeout: 10_000 },
  )
  expect(purge.json()).toMatchObject({ success: true, purged: 1 })
  const fresh = await open(name, { clock })
  clock.advance(9999)
  expect(await fresh.claimable(10)).toEqual([])
  clock.advance(1)
  expect(await fresh.claimable(10)).toEqual(['run_1'])
  expect(await fresh.claim('run_1', 'worker-2', 10_000)).toMatchObject({ epoch: 2 })
})

describe('NATS: the streams', () => {
  test('are created once by nodes that start concurrently', async () => {
    const name = newName()
    const stores = await Promise.all(Array.from({ length: 8 }, () => open(name, { partitions: 3 })))
    for (const [number, store] of stores.entries())
      expect((await store.create(newRun(`run_${number}`, new Date().toISOString()))).kind).toBe('created')
    expect((await stores[0]!.list({ limit: 100 })).runs).toHaveLength(8)
    const { streams } = await inspectNats({ servers: [server.address], name })
    expect(streams).toHaveLength(6)
  })

  test('keep their number of partitions', async () => {
    const name = newName()
    await open(name, { partitions: 2 })
    await open(name)
    await expect(open(name, { partitions: 3 })).rejects.toThrow(/has 2 partitions/)
  })

  test('streams of a newer version are rejected, and streams of another name are ignored', async () => {
    const name = newName()
    await (await open(name)).close()
    const connection = await connect({ servers: server.address })
    onTestFinished(() => connection.close())
    const head = headers()
    head.set('Holdfast', JSON.stringify({ version: LAYOUT_VERSION + 1, partitions: 4 }))
    await connection.request(`${name}.state.0.version`, '', { headers: head, timeout: 10_000 })
    await expect(open(name)).rejects.toThrow(/made by a newer Holdfast \(version \d+; this one knows up to \d+\)/)
    await open(newName())
  })

  test('must have a name that is valid in a subject', async () => {
    for (const name of ['', 'a.b', 'a b', 'a*', '>', 'x'.repeat(41)])
      await expect(open(name)).rejects.toThrow(/is not a valid stream prefix/)
  })

  test('are not created if syncing is required and the server does not confirm it', async () => {
    const { monitor } = server
    const requested = open(newName(), { sync: 'always', monitor })
    await expect(requested).rejects.toThrow(/sync=always is required/)
    await expect(open(newName(), { sync: 'always', monitor: 'http://127.0.0.1:1' })).rejects.toThrow(/does not report/)
  })
})

test('NATS: credentials are sent, and an unusable server is named without the password', async () => {
  const options = { servers: [guarded.address], user: 'anna' }
  expect((await open(newName(), { ...options, password: 'hunter2' })).health()).toEqual({ ok: true })
  const refused = await open(newName(), { ...options, password: 'hunter3' }).catch((cause: unknown) => cause)
  expect(String(refused)).toMatch(
    /cannot connect to the NATS store at 127\.0\.0\.1:\d+ \(--store, HOLDFAST_STORE\): .*authori[sz]ation/i,
  )
  expect(String(refused)).not.toContain('hunter3')
  await expect(open(newName(), { servers: ['127.0.0.1:1'] })).rejects.toMatchObject({ code: 'unavailable' })
})

test('NATS: holdfast serve stores its runs there', async () => {
  const store = `nats://${server.address}?name=${newName()}&partitions=2`
  const served = await startServer({ store: 'not this one', args: ['--store', store] })
  const run = await createClient({ url: served.url }).runs.start({ component: 'lab', input: 'text 3' })
  await run.result()
  const another = await startServer({ store: 'nor this one', args: ['--store', store] })
  expect(await createClient({ url: another.url }).runs.get(run.id)).toMatchObject({ status: 'completed' })
})
