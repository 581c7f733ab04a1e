/** Messages of the servers are verified: a diverged replica costs a read from the leader, a diverged leader one run. */
import { connect, headers } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { RunReads } from '../../src/core/delivery/run-reads.ts'
import { Subscription } from '../../src/core/delivery/subscription.ts'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import type { RunWriter } from '../../src/testing/fixtures.ts'
import { startNats } from '../support/nats.ts'
import { openDiverging } from '../support/nats-divergence.ts'
import { openNode } from '../support/node.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { startRun } from './failing-servers.ts'

const server = await startNats()
let names = 0
const newName = (): string => `integrity-${++names}`

async function open(name: string, address = server.address): Promise<Store> {
  const store = await openNatsStore({ servers: [address], name, partitions: 1, requestTimeoutMs: 500 })
  onTestFinished(() => store.close())
  return store
}

/** Two runs with alternating messages in one stream, written by another node, so that this node reads them from the servers. */
async function writtenElsewhere(name: string): Promise<[RunWriter, RunWriter]> {
  const writer = await open(name)
  const runWriters: [RunWriter, RunWriter] = [await startRun(writer), await startRun(writer)]
  for (let round = 0; round < 20; round++)
    for (const runWriter of runWriters) {
      runWriter.text(`${round} of ${runWriter.id} `)
      await runWriter.flush()
    }
  return runWriters
}

/** A message that some other program puts on a subject. */
async function publish(subject: string, head: object | undefined, data = ''): Promise<void> {
  const connection = await connect({ servers: server.address })
  onTestFinished(() => connection.close())
  const header = headers()
  if (head !== undefined) header.set('Holdfast', JSON.stringify(head))
  await connection.request(subject, data, { headers: header, timeout: 10_000 })
}

describe('[STO-2] [SEC-1] [LOG-5] NATS: a replica that returns', () => {
  test.each([
    ['messages of another run', 1],
    ['messages of another position of the run', 2],
    ['messages of an earlier position of the run', -2],
  ])('%s is not believed: the leader is asked', async (_, distance) => {
    const name = newName()
    const runWriters = await writtenElsewhere(name)
    const { store, divert, logged } = await openDiverging(server.address, name)
    divert((seq) => seq + distance)
    for (const runWriter of runWriters) expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
    expect(store.health()).toMatchObject({ ok: true, alarms: [expect.stringMatching(/replica differed .* times/)] })
    expect(logged).toContainEqual(expect.objectContaining({ level: 'warn', message: expect.stringMatching(/differs/) }))
  })
})

describe('[STO-2] [SEC-1] NATS: a leader that returns another run’s messages', () => {
  test('fails that run with 503 and an alarm, no other run, and only until it is correct again', async () => {
    const name = newName()
    const [hit, sound] = await writtenElsewhere(name)
    const { store, divert, logged } = await openDiverging(server.address, name)
    // The messages of the run that was created first have odd sequences from the fifth on.
    divert((seq) => (seq > 8 && seq % 2 === 1 ? seq + 1 : undefined), 'leader')
    await expect(readRecords(store, hit.id)).rejects.toMatchObject({ code: 'unavailable', status: 503 })
    await expect(readRecords(store, hit.id)).rejects.toMatchObject({
      internalMessage: expect.stringContaining('quarantined: the NATS servers returned'),
    })
    expect(await readRecords(store, sound.id)).toEqual(sound.records)
    expect(store.health()).toMatchObject({
      ok: true,
      alarms: expect.arrayContaining([expect.stringMatching(/^1 quarantined/)]) as unknown,
    })
    expect(JSON.stringify(store.health())).not.toContain(hit.id)
    const alarms = logged.filter(({ level }) => level === 'error')
    expect(alarms).toEqual([expect.objectContaining({ fields: expect.objectContaining({ run: hit.id }) as unknown })])
    divert(undefined)
    expect(await readRecords(store, hit.id)).toEqual(hit.records)
    expect(JSON.stringify(store.health())).not.toContain('quarantined')
  })
})

describe('[STO-2] [LOG-2] NATS: a run that goes backwards in its stream', () => {
  test('is quarantined: it cannot be read or written, and other runs continue', async () => {
    const name = newName()
    const store = await open(name)
    const [hit, sound] = [await startRun(store), await startRun(store)]
    hit.text('seen by a client')
    await hit.flush()
    const before = (await store.get(hit.id))!
    const { service } = openNode({ components: [agent({ id: 'none', async *run() {} })], store })
    const ended = Promise.withResolvers<unknown>()
    const sink = { write: () => true, finished: () => ended.resolve('finished'), failed: ended.resolve }
    const follower = new Subscription(new RunReads(store, hit.id), hit.id, -1, sink, 65_536, () => {})
    onTestFinished(store.watch(hit.id, (hint) => follower.offer(hint)))
    follower.resume()
    await until('it has all', () => follower.cursor === before.next - 1)
    // The same position again, one event shorter, as a server writes it that has forgotten the one before.
    const { run } = before
    const head = { i: run.id, u: 'rival', p: 3, a: 2, n: 2, e: 2, m: 1, o: run.owner, c: run.component, s: run.session }
    await publish(`${name}.log.0.${hit.id}`, { ...head, t: run.createdAt, r: 'running', b: [1, 1] })
    expect(await ended.promise).toMatchObject({ code: 'unavailable' })
    await expect(store.get(hit.id)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(store.read(hit.id, -1, 1000).then(() => undefined)).rejects.toMatchObject({
      internalMessage: expect.stringContaining('position 3 after position 3'),
    })
    await expect(store.claim(hit.id, 'other', 1000)).rejects.toMatchObject({ code: 'unavailable' })
    hit.text('too late')
    await expect(hit.flush()).rejects.toMatchObject({ code: 'unavailable' })
    expect(await store.claimable(10)).not.toContain(hit.id)
    sound.text('goes on')
    await sound.flush()
    expect(await readRecords(store, sound.id)).toEqual(sound.records)
    expect(service.health()).toMatchObject({ ok: true, store: { alarms: [expect.stringMatching(/^1 quarantined/)] } })
  })

  test('a foreign message is ignored without a run, and quarantines the run that it is put on', async () => {
    const name = newName()
    const store = await open(name)
    const [hit, sound] = [await startRun(store), await startRun(store)]
    await publish(`${name}.log.0.run_unknown`, undefined, 'hello')
    await publish(`${name}.log.0.${hit.id}`, undefined, 'hello')
    await publish(`${name}.state.0.document.x`, undefined, 'hello')
    await expect(store.get(hit.id)).rejects.toMatchObject({
      internalMessage: expect.stringContaining('which Holdfast did not write'),
    })
    expect(await readRecords(store, sound.id)).toEqual(sound.records)
    await until('it is told', () => store.health().alarms?.some((text) => /messages were ignored/.test(text)))
    const fresh = await open(name)
    expect(await readRecords(fresh, sound.id)).toEqual(sound.records)
  })
})

test('[LOG-1] NATS: an append whose response was lost is looked up before it is sent again', async () => {
  const name = newName()
  const proxy = await startTcpProxy(server.port)
  const store = await open(name, `127.0.0.1:${proxy.port}`)
  const runWriter = await startRun(store)
  const listening = await connect({ servers: server.address })
  onTestFinished(() => listening.close())
  let sent = 0
  listening.subscribe(`${name}.log.0.${runWriter.id}`, { callback: () => void sent++ })
  await listening.flush()
  proxy.loseAnswers()
  runWriter.text('once ')
  const flushed = runWriter.flush()
  await until('the server has it', () => sent === 1)
  await until('the store knows that no answer came', () => !store.health().ok)
  proxy.heal()
  proxy.cut()
  await flushed
  runWriter.complete()
  await runWriter.flush()
  await listening.flush() // the server answers it after what it has for this connection
  expect(sent).toBe(2)
  expect(await readRecords(store, runWriter.id)).toEqual(runWriter.records)
})
