/** Store faults on NATS: after a lost response, the outcome is looked up, not assumed. */
import { connect, headers, type Msg } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/core/ports/store.ts'
import { openNatsStore, type OpenNatsOptions } from '../../src/stores/nats/index.ts'
import { Layout } from '../../src/stores/nats/layout.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { startNats, startNatsCluster } from '../support/nats.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import {
  expectClaimedOnce,
  expectFoundWritten,
  expectRefused,
  flushEveryTick,
  newRunId,
  startRun,
  writeUnderLoad,
} from './failing-servers.ts'

const server = await startNats()
const cluster = await startNatsCluster(3)
let names = 0

const newName = (): string => `faults-${++names}`

/** A node's store; closed when the test is over. */
async function open(options: Partial<OpenNatsOptions> & { name: string }): Promise<Store> {
  const store = await openNatsStore({ servers: [server.address], partitions: 1, requestTimeoutMs: 500, ...options })
  onTestFinished(() => store.close())
  return store
}

const through = (proxy: TcpProxy): { servers: string[] } => ({ servers: [`127.0.0.1:${proxy.port}`] })

/** Queries the server over a new connection, because it may have been restarted. */
async function ask(subject: string, data: string, head?: object): Promise<Msg> {
  const connection = await connect({ servers: server.address })
  const header = headers()
  if (head !== undefined) header.set('Holdfast', JSON.stringify(head))
  try {
    return await connection.request(subject, data, { headers: header, timeout: 10_000 })
  } finally {
    await connection.close()
  }
}

/** How many messages the server itself has of a run. */
async function messagesOf(name: string, id: string): Promise<number> {
  const filter = `${name}.log.0.${id}`
  const answer = await ask(`$JS.API.STREAM.INFO.${name}-log-0`, JSON.stringify({ subjects_filter: filter }))
  return answer.json<{ state: { subjects?: Record<string, number> } }>().state.subjects?.[filter] ?? 0
}

describe('NATS: an append whose response is lost', () => {
  test('[LOG-1] an append that was written is found, and not written twice', async () => {
    const name = newName()
    const proxy = await startTcpProxy(server.port)
    const store = await open({ name, ...through(proxy) })
    const runWriter = await startRun(store)
    proxy.loseAnswers()
    runWriter.text('was this written? ')
    runWriter.complete()
    const flushed = runWriter.flush()
    await until('the server has it', async () => (await messagesOf(name, runWriter.id)) === 3)
    proxy.heal()
    proxy.cut()
    await flushed
    expect(await messagesOf(name, runWriter.id)).toBe(3)
    expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
    expect(await store.get(runWriter.id)).toMatchObject({ run: { status: 'completed' }, next: 4 })
  })

  test('[LOG-1] an append that was written is found although the response arrives too late', async () => {
    const name = newName()
    const proxy = await startTcpProxy(server.port)
    const store = await open({ name, requestTimeoutMs: 200, ...through(proxy) })
    const runWriter = await startRun(store)
    proxy.delay(400)
    runWriter.text('slowly ')
    const flushed = runWriter.flush()
    await until('the server has it', async () => (await messagesOf(name, runWriter.id)) === 3)
    proxy.delay(0)
    await flushed
    runWriter.complete()
    await runWriter.flush()
    expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
    expect(await messagesOf(name, runWriter.id)).toBe(4)
  })

  test('[LOG-1] an append that was not written is written', async () => {
    const name = newName()
    const proxy = await startTcpProxy(server.port)
    const store = await open({ name, ...through(proxy) })
    const runWriter = await startRun(store)
    proxy.block()
    runWriter.text('this never arrives')
    const flushed = runWriter.flush()
    await until('the store knows', () => !store.health().ok)
    proxy.heal()
    proxy.cut()
    await flushed
    expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
  })

  test('[LOG-4] an append that was written is found although another worker has claimed the run since', async () => {
    const name = newName()
    const proxy = await startTcpProxy(server.port)
    const [cutOff, other] = [await open({ name, ...through(proxy) }), await open({ name })]
    await expectFoundWritten(proxy, cutOff, other)
  })
})

describe('NATS: a command whose response is lost', () => {
  test('[RUN-4] creates one run, reported as created', async () => {
    const name = newName()
    const proxy = await startTcpProxy(server.port)
    const store = await open({ name, ...through(proxy) })
    for (const options of [
      {},
      { idempotency: { key: 'one', fingerprint: 'body' } },
      { lane: 'lane-1', rejectIfBusy: true },
    ]) {
      const draft = newRun(newRunId(), new Date().toISOString(), options)
      proxy.loseAnswers()
      const creating = store.create(draft)
      await until('the store knows', () => !store.health().ok)
      proxy.heal()
      proxy.cut()
      expect(await creating).toMatchObject({ kind: 'created', stored: { run: draft.run, next: 1 } })
      expect(await messagesOf(name, draft.run.id)).toBe(1)
    }
    expect((await store.list({ limit: 10 })).runs).toHaveLength(3)
  })

  test('[LOG-4] claims once, for the node that asked', async () => {
    const name = newName()
    const proxy = await startTcpProxy(server.port)
    const [store, other] = [await open({ name, ...through(proxy) }), await open({ name })]
    await expectClaimedOnce(proxy, store, other)
  })
})

/** Writes a message like a node that then died. */
async function leaveBehind(subject: string, head: object, data = ''): Promise<void> {
  await ask(subject, data, head)
}

describe('NATS: a node that dies while it creates a run', () => {
  test('[RUN-4] leaves its idempotency key to the next start, and its own run never appears', async () => {
    const name = newName()
    const store = await open({ name })
    const idempotency = { key: 'one', fingerprint: 'body' }
    const [lost, next] = [1, 2].map(() => newRun(newRunId(), new Date().toISOString(), { idempotency }))
    const { subject } = new Layout(name, 1).state('key', lost!.run.owner, 'one')
    await leaveBehind(subject, { id: lost!.run.id, fingerprint: 'body' })
    expect(await store.create(next!)).toMatchObject({ kind: 'created', stored: { run: { id: next!.run.id } } })
    const again = newRun(newRunId(), new Date().toISOString(), { idempotency })
    expect(await store.create(again)).toMatchObject({ kind: 'existing', stored: { run: { id: next!.run.id } } })
    await expect(store.create({ ...lost!, run: { ...lost!.run, session: 'another' } })).resolves.toMatchObject({
      kind: 'existing',
    })
    expect(await store.get(lost!.run.id)).toBeUndefined()
  })

  test('leaves a lane entry that blocks no run', async () => {
    const name = newName()
    const store = await open({ name })
    const { subject } = new Layout(name, 1).state('lane', 'lane-1')
    await leaveBehind(subject, {}, JSON.stringify([['run_lost', 1]]))
    const draft = newRun(newRunId(), new Date().toISOString(), { lane: 'lane-1', rejectIfBusy: true })
    expect(await store.create(draft)).toMatchObject({ kind: 'created' })
    expect(await store.claim(draft.run.id, 'worker-1', 60_000)).toMatchObject({ epoch: 1 })
    const late = newRun('run_lost', new Date().toISOString())
    await expect(store.create(late)).rejects.toMatchObject({ code: 'unavailable' })
  })
})

test('[LOG-4] NATS: a worker that was cut off while its lease expired writes nothing more', async () => {
  const name = newName()
  const proxy = await startTcpProxy(server.port)
  const [cutOff, other] = [await open({ name, ...through(proxy) }), await open({ name })]
  await expectRefused(proxy, cutOff, other)
})

test('[LOG-1] [LOG-2] NATS: a server restarted under load, cleanly or by a crash, loses, duplicates and changes nothing', async () => {
  const name = newName()
  const [store, other] = [await open({ name }), await open({ name })]
  const hints: number[] = []
  const { runWriters, durable, done } = await writeUnderLoad(store, 20, 120)
  other.watch(runWriters[0]!.id, ({ next }) => hints.push(next))
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGKILL'] as const) {
    const before = durable()
    await until('some more is written', () => durable() > before + 200 || durable() === 2400, { withinMs: 180_000 })
    await server.stop(signal)
    await until('the store knows', () => !store.health().ok, { withinMs: 180_000 })
    await server.start()
  }
  await done
  expect(durable()).toBe(2400)
  for (const runWriter of runWriters) expect(await readRecords(other, runWriter.id)).toEqual(runWriter.records)
  await until('the other node hears the end', () => hints.at(-1) === runWriters[0]!.records.length)
  expect(store.health()).toEqual({ ok: true })
}, 180_000)

test('NATS: a slow connection makes batches larger, and nothing else', async () => {
  const name = newName()
  const proxy = await startTcpProxy(server.port)
  const store = await open({ name, ...through(proxy) })
  const runWriter = await startRun(store)
  proxy.delay(50)
  await flushEveryTick(runWriter, 500)
  proxy.delay(0)
  expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
  expect(await messagesOf(name, runWriter.id)).toBeLessThan(100)
})

test('NATS: while no server is reachable, callers get an error in bounded time, and nothing durable is lost', async () => {
  const name = newName()
  const proxy = await startTcpProxy(server.port)
  const store = await open({ name, ...through(proxy), outageTimeoutMs: 300 })
  const runWriter = await startRun(store)
  proxy.block()
  proxy.cut()
  runWriter.text('given up')
  await expect(runWriter.flush()).rejects.toMatchObject({ code: 'unavailable', retryable: true })
  expect(() => runWriter.text('and so is what follows')).toThrow('the store is unavailable')
  expect(store.health().ok).toBe(false)
  proxy.heal()
  proxy.cut()
  const { next } = await until('it is back', () => store.get(runWriter.id).catch(() => undefined))
  expect(next).toBe(2)
  expect(store.health().ok).toBe(true)
})

test('[RUN-1] NATS: a silent connection is replaced before a renewal times out', async () => {
  const proxy = await startTcpProxy(server.port)
  const store = await open({ name: newName(), ...through(proxy) })
  await store.renew('worker-1', 10_000, [])
  proxy.strand()
  await expect(store.renew('worker-1', 10_000, [])).resolves.toEqual([])
}, 60_000)

describe('a NATS cluster of three', () => {
  const servers = cluster.map(({ address }) => address)

  test('[LOG-1] [LOG-2] loses, duplicates and changes nothing when its servers are killed in turn under load', async () => {
    const name = newName()
    const [store, other] = [
      await open({ name, servers, requestTimeoutMs: 1000 }),
      await open({ name, servers: servers.toReversed() }),
    ]
    const { runWriters, durable, done } = await writeUnderLoad(store, 20, 100)
    for (const victim of cluster) {
      const before = durable()
      await until('some more is written', () => durable() > before + 150 || durable() === 2000, { withinMs: 180_000 })
      await victim.stop('SIGKILL')
      const down = durable()
      await until('it goes on without', () => durable() > down + 100 || durable() === 2000, { withinMs: 180_000 })
      await victim.start()
    }
    await done
    expect(durable()).toBe(2000)
    for (const runWriter of runWriters) expect(await readRecords(other, runWriter.id)).toEqual(runWriter.records)
    expect((await other.list({ limit: 100, status: ['completed'] })).runs).toHaveLength(20)
  }, 180_000)

  test('[LOG-4] accepts one of several concurrent changes to a run', async () => {
    const name = newName()
    const stores = await Promise.all(
      [0, 1, 2].map((at) => open({ name, servers: [servers[at]!], requestTimeoutMs: 2000 })),
    )
    for (let round = 0; round < 60; round++) {
      const id = newRunId()
      await stores[0]!.create(newRun(id, new Date().toISOString(), { lane: `lane-${round}` }))
      const claims = await Promise.all(stores.map((store, at) => store.claim(id, `worker-${at}`, 60_000)))
      expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1)
      expect(await stores[1]!.get(id)).toMatchObject({ epoch: 1 })
      const note = { owner: 'anna', collection: 'notes', id, body: round }
      const first = await stores[0]!.documents.put(note)
      const puts = await Promise.all(stores.map((store) => store.documents.put(note, first!.version)))
      expect(puts.filter((put) => put !== undefined)).toHaveLength(1)
    }
  })

  test('creates the requested number of replicas, or reports that it cannot', async () => {
    await expect(open({ name: newName(), servers, replicas: 5 })).rejects.toThrow(
      /cannot create the stream .* with 5 replicas/,
    )
    await expect(open({ name: newName(), servers, replicas: 3, tags: ['rack:n1'] })).rejects.toThrow(
      /with 3 replicas on servers tagged rack:n1/,
    )
    await expect(open({ name: newName(), replicas: 3 })).rejects.toThrow(/cannot create the stream .* with 3 replicas/)
  })
})
