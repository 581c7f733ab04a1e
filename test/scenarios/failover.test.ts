/** A failover to a lagging streaming replica: clients that saw lost events get an error, and every run ends or continues. */
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { isHoldfastError } from '../../src/core/model/errors.ts'
import { localPrincipal } from '../../src/core/model/principal.ts'
import { events, lastOf } from '../../src/core/model/slice.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { aborted, openNode, subject, type TestNode, textOf } from '../support/node.ts'
import { PostgresServer } from '../support/postgres.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const LOST_EVENTS = 40
const PATIENT = { withinMs: 180_000, everyMs: 20 }

async function startPair(): Promise<{ readonly primary: PostgresServer; readonly replica: PostgresServer }> {
  const primary = await PostgresServer.create()
  onTestFinished(() => primary.remove())
  await primary.start()
  const replica = await PostgresServer.following(primary)
  onTestFinished(() => replica.remove())
  await replica.start()
  return { primary, replica }
}

/** From now on it receives nothing more. */
async function cutOff(replica: PostgresServer, primary: PostgresServer): Promise<void> {
  await replica.query("ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port=1'")
  await replica.query('SELECT pg_reload_conf()')
  const streams = 'SELECT FROM pg_stat_replication'
  await until('the replica is cut off', async () => (await primary.query(streams)).length === 0, PATIENT)
}

interface Followed {
  cursor: number
  end?: string
  readonly seen: string[]
}

/** The last event of a subscriber, and how its stream ended. */
async function follow(node: TestNode, id: string): Promise<Followed> {
  const seen: Followed = { cursor: -1, seen: [] }
  await node.service.subscribe(localPrincipal, id, -1, {
    write: (slice) => {
      seen.cursor = lastOf(slice)
      for (const { type, data } of events(slice)) if (type === 'text.delta') seen.seen.push(data.text)
      return true
    },
    finished: () => (seen.end = 'finished'),
    failed: (cause) => (seen.end = isHoldfastError(cause) ? cause.code : String(cause)),
  })
  return seen
}

test(
  '[SUB-2] [RUN-1] failover: streams whose events were lost end with an error, and silent runs are restarted or failed',
  { timeout: 180_000 },
  async () => {
    const { primary, replica } = await startPair()
    let current = primary
    const proxy = await startTcpProxy(() => current.port)
    const store = await openPostgresStore({ url: primary.url.replace(`:${primary.port}/`, `:${proxy.port}/`) })
    onTestFinished(() => store.close())
    const proceed = Promise.withResolvers<void>()
    const run = async function* (_: unknown, { attempt, signal }: { attempt: number; signal: AbortSignal }) {
      yield `[${attempt}]`
      if (attempt > 1) return
      await proceed.promise
      for (let event = 0; event < LOST_EVENTS; event++) yield '.'
      await aborted(signal) // silent: it would never notice by itself
    }
    const components = [subject(run, { id: 'retried', recovery: 'retry' }), subject(run, { id: 'failed' })]
    const node = openNode({ components, store, limits: { leaseMs: 1500 } })
    const ids = [await node.start('retried'), await node.start('failed')] as const
    for (const id of ids) await node.emitted(id, 'text.delta')
    const [{ at }] = (await primary.query<{ at: string }>('SELECT pg_current_wal_lsn()::text AS at')) as [
      { at: string },
    ]
    const received = 'SELECT FROM (SELECT pg_last_wal_replay_lsn() AS at) r WHERE r.at >= $1::pg_lsn'
    await until('the replica has the runs', async () => (await replica.query(received, [at])).length === 1, PATIENT)
    await cutOff(replica, primary)
    const streams = await Promise.all(ids.map((id) => follow(node, id)))
    proceed.resolve()
    const last = 2 + LOST_EVENTS
    await until('both were seen to their last event', () => streams.every(({ cursor }) => cursor === last), PATIENT)

    await primary.stop('SIGQUIT')
    await replica.query('SELECT pg_promote()')
    current = replica
    proxy.cut()

    await until('both streams ended', () => streams.every(({ end }) => end !== undefined), PATIENT)
    expect(streams).toMatchObject([
      { cursor: last, end: 'cursor_invalid' },
      { cursor: last, end: 'cursor_invalid' },
    ])
    const [retried, failed] = [await node.ended(ids[0], 60_000), await node.ended(ids[1], 60_000)]
    expect(textOf(retried)).toBe('[2]')
    expect(retried.at(-1)!.type).toBe('run.completed')
    expect(failed.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'interrupted' } } })
  },
)

test(
  '[SUB-2] [LOG-5] failover: an open stream never continues with events of the new history',
  { timeout: 180_000 },
  async () => {
    const { primary, replica } = await startPair()
    let current = primary
    const proxy = await startTcpProxy(() => current.port)
    const url = primary.url.replace(`:${primary.port}/`, `:${proxy.port}/`)
    const proceed = Promise.withResolvers<void>()
    // It writes all the time, so it is refused at once; its next attempt passes every cursor before anybody polls.
    const component = subject(
      async function* (_, { attempt, signal }) {
        yield `[${attempt}]`
        if (attempt === 1) await proceed.promise
        for (let event = 0; event < 4 * LOST_EVENTS; event++) {
          yield `${attempt}.${event} `
          if (attempt === 1) await wait(event < LOST_EVENTS ? 0 : 50, undefined, { signal })
        }
      },
      { recovery: 'retry' },
    )
    const nodes = await Promise.all(
      [0, 1].map(async () => {
        const store = await openPostgresStore({ url })
        onTestFinished(() => store.close())
        return openNode({ components: [component], store, limits: { leaseMs: 1500, pollIntervalMs: 60_000 } })
      }),
    )
    const id = await nodes[0]!.start('subject')
    await nodes[0]!.emitted(id, 'text.delta')
    const [{ at }] = (await primary.query<{ at: string }>('SELECT pg_current_wal_lsn()::text AS at')) as [
      { at: string },
    ]
    const received = 'SELECT FROM (SELECT pg_last_wal_replay_lsn() AS at) r WHERE r.at >= $1::pg_lsn'
    await until('the replica has the run', async () => (await replica.query(received, [at])).length === 1, PATIENT)
    await cutOff(replica, primary)
    const streams = await Promise.all(nodes.map((node) => follow(node, id)))
    proceed.resolve()
    await until('events were seen that are lost', () => streams.every(({ cursor }) => cursor > LOST_EVENTS), PATIENT)

    await primary.stop('SIGQUIT')
    await replica.query('SELECT pg_promote()')
    current = replica
    proxy.cut()

    const log = await nodes[1]!.ended(id, 60_000)
    await until('both streams ended', () => streams.every(({ end }) => end !== undefined), PATIENT)
    for (const { end, seen } of streams) {
      expect(['cursor_invalid', 'log_changed']).toContain(end)
      // What was seen is of the old history up to its last event.
      expect(seen.filter((text) => text.startsWith('2.'))).toEqual([])
    }
    expect(log.at(-1)!.type).toBe('run.completed')
  },
)
