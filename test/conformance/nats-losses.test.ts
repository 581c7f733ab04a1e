/** Changes to the streams by others are detected and reported: a purge, a limit, a server restored from old files. */
import { connect } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/core/ports/store.ts'
import { SubscriptionRegistry } from '../../src/core/delivery/subscription-registry.ts'
import { defaultLimits } from '../../src/core/model/limits.ts'
import { openNatsStore, type OpenNatsOptions } from '../../src/stores/nats/index.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { type NatsServer, startNats } from '../support/nats.ts'
import { until } from '../support/until.ts'
import { newRunId, startRun } from './failing-servers.ts'

const [server, forgetful] = [await startNats(), await startNats()]
let names = 0
const newName = (): string => `losses-${++names}`

async function open(name: string, options: Partial<OpenNatsOptions> = {}): Promise<Store> {
  const store = await openNatsStore({
    servers: [server.address],
    name,
    partitions: 1,
    requestTimeoutMs: 500,
    ...options,
  })
  onTestFinished(() => store.close())
  return store
}

/** One request to JetStream, as an operator makes it. */
async function api<Answer extends object>(what: string, body: object, at: NatsServer = server): Promise<Answer> {
  const connection = await connect({ servers: at.address })
  try {
    const answer = (await connection.request(`$JS.API.${what}`, JSON.stringify(body), { timeout: 10_000 })).json<
      Answer & { error?: object }
    >()
    if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error))
    return answer
  } finally {
    await connection.close()
  }
}

/** How a subscription to a run ends, and how far it came. */
function follow(store: Store, run: string): { readonly cursor: number; readonly ended: Promise<unknown> } {
  const registry = new SubscriptionRegistry(store, { ...defaultLimits, pollIntervalMs: 100 })
  onTestFinished(() => registry.close())
  const ended = Promise.withResolvers<unknown>()
  const sink = { write: () => true, finished: () => ended.resolve('finished'), failed: ended.resolve }
  const subscription = registry.open(run, -1, sink)
  return Object.defineProperty({ ended: ended.promise, cursor: -1 }, 'cursor', { get: () => subscription.cursor })
}

const alarmed = (store: Store, pattern: RegExp): boolean =>
  store.health().alarms?.some((text) => pattern.test(text)) ?? false

describe('[SUB-2] [SUB-3] NATS: a stream that an operator purges', () => {
  test('is detected: its runs get 410, streams end, and listings and new runs work on every node', async () => {
    const name = newName()
    const [store, other] = [await open(name), await open(name)]
    const [finished, running] = [await startRun(store), await startRun(store)]
    finished.complete()
    await finished.flush()
    const follower = follow(other, running.id)
    await until('it has all', () => follower.cursor === 1)
    await api(`STREAM.PURGE.${name}-log-0`, {})
    for (const node of [store, other])
      await until('it is noticed', () => alarmed(node, /2 runs are lost: stream .* was purged/), { withinMs: 180_000 })
    expect(await follower.ended).toMatchObject({ code: 'cursor_expired', status: 410 })
    for (const node of [store, other]) {
      expect((await node.list({ limit: 10 })).runs).toEqual([])
      for (const { id } of [finished, running]) {
        await expect(node.get(id)).rejects.toMatchObject({ status: 410 })
        await expect(node.read(id, -1, 1000)).rejects.toMatchObject({ status: 410 })
      }
      expect(await node.claimable(10)).toEqual([])
    }
    running.text('into nothing')
    await expect(running.flush()).rejects.toMatchObject({ code: 'not_found' })
    const next = await startRun(store)
    next.complete()
    await next.flush()
    expect(await readRecords(other, next.id)).toEqual(next.records)
  })

  test('a partial purge: missing events get 410 with the earliest one, and an unreadable run is skipped and counted', async () => {
    const name = newName()
    const store = await open(name)
    const [hit, sound] = [await startRun(store), await startRun(store)]
    for (const text of ['a', 'b', 'c']) {
      hit.text(text)
      await hit.flush()
    }
    await api(`STREAM.PURGE.${name}-log-0`, { filter: `${name}.log.0.${hit.id}`, seq: 6 })
    const fresh = await open(name)
    await expect(fresh.read(hit.id, -1, 1000)).rejects.toMatchObject({
      code: 'cursor_expired',
      details: { earliest: 3 },
    })
    expect(Buffer.from((await fresh.read(hit.id, 2, 10_000))!.bytes).toString()).toBe(hit.records.slice(3).join(''))
    await expect(fresh.get(hit.id)).rejects.toMatchObject({ code: 'unavailable' })
    const { runs, unreadable } = await fresh.list({ limit: 10 })
    expect(runs.map(({ run }) => run.id)).toEqual([sound.id])
    expect(unreadable).toBe(1)
    expect(fresh.health()).toMatchObject({ ok: true, alarms: [expect.stringMatching(/^1 quarantined/)] })
  })
})

describe('[LOG-2] [SUB-2] NATS: a server whose files are older than what it acknowledged', () => {
  test('is detected: streams end with an error, runs are as in its files, and the node continues', async () => {
    const name = newName()
    const store = await open(name, { servers: [forgetful.address] })
    const runWriter = await startRun(store)
    runWriter.text('kept ')
    await runWriter.flush()
    await forgetful.stop()
    forgetful.keepFiles()
    await forgetful.start()
    for (const text of ['lost ', 'lost too ']) {
      runWriter.text(text)
      await runWriter.flush()
    }
    const young = await startRun(store)
    const follower = follow(store, runWriter.id)
    await until('it has all', () => follower.cursor === 4)
    await forgetful.stop('SIGKILL')
    forgetful.restoreFiles()
    await forgetful.start()
    expect(await follower.ended).toMatchObject({ code: 'cursor_invalid' })
    await until('it is noticed', () => alarmed(store, /went back from message \d+ to \d+: 1 runs are lost/), {
      withinMs: 180_000,
    })
    expect(await store.get(runWriter.id)).toMatchObject({ next: 3 })
    expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records.slice(0, 3))
    await expect(store.get(young.id)).rejects.toMatchObject({ status: 410 })
    runWriter.text('not in its place')
    await expect(runWriter.flush()).rejects.toMatchObject({ code: 'fenced' })
    expect((await store.list({ limit: 10 })).runs.map(({ run }) => run.id)).toEqual([runWriter.id])
    const next = await startRun(store)
    next.complete()
    await next.flush()
    expect(await readRecords(store, next.id)).toEqual(next.records)
  })
})

describe('NATS: a stream that has reached its limit', () => {
  test('[RUN-1] rejects starts with 503 and the reason, and continues without a restart when the limit is raised', async () => {
    const name = newName()
    const store = await open(name)
    const runWriter = await startRun(store)
    type Info = { config: Record<string, unknown>; state: { bytes: number } }
    const { config, state } = await api<Info>(`STREAM.INFO.${name}-log-0`, {})
    await api(`STREAM.UPDATE.${name}-log-0`, { ...config, max_bytes: state.bytes + 10 })
    runWriter.text('waits for room')
    const waiting = runWriter.flush()
    const refused = store.create(newRun(newRunId(), new Date().toISOString()))
    await expect(refused).rejects.toMatchObject({
      code: 'unavailable',
      status: 503,
      message: 'the store is full: a limit of JetStream is reached',
      internalMessage: expect.stringContaining('maximum bytes exceeded'),
    })
    await api(`STREAM.UPDATE.${name}-log-0`, { ...config, max_bytes: -1 })
    await waiting
    const next = await startRun(store)
    next.complete()
    await next.flush()
    expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
    expect(store.health()).toEqual({ ok: true })
  })
})
