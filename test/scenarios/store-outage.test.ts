/** PostgreSQL outages: within `--store-outage` no run is affected, and after it every run is recovered. */
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type OpenPostgresOptions, openPostgresStore } from '../../src/stores/postgres/index.ts'
import { openNode, subject, type TestNode, textOf } from '../support/node.ts'
import { startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const server = await startPostgres()

/** Short, so that a short outage is longer than leases last; long enough for a busy machine to renew them. */
const LEASE_MS = 4000
const OUTAGE_MS = 2 * LEASE_MS
const NODES = 3
const RUNS = 300
const PATIENT = { withinMs: 90_000, everyMs: 100 }

async function openNodes(
  component: Parameters<typeof openNode>[0]['components'][number],
  options: Partial<OpenPostgresOptions> & { readonly schema: string },
): Promise<TestNode[]> {
  return Promise.all(
    Array.from({ length: NODES }, async () => {
      const store = await openPostgresStore({ url: server.url, connections: 4, ...options })
      onTestFinished(() => store.close())
      return openNode({ components: [component], store, limits: { leaseMs: LEASE_MS } })
    }),
  )
}

async function stopFor(milliseconds: number): Promise<void> {
  await server.stop('SIGQUIT')
  await wait(milliseconds)
  await server.start()
}

test(
  `[RUN-1] ${RUNS} runs on ${NODES} nodes survive an outage of twice their lease: none fails, none restarts`,
  { timeout: 240_000 },
  async () => {
    const proceed = Promise.withResolvers<void>()
    const schema = 'within'
    const component = subject(async function* (input) {
      yield 'a'
      // Some write while the database is away, some are silent.
      for (let turn = 0; Number(input) % 2 === 0 && turn < 20; turn++) {
        await wait(400)
        yield '.'
      }
      await proceed.promise
      yield 'b'
    })
    const nodes = await openNodes(component, { schema })
    const numbers = Array.from({ length: RUNS }, (_, number) => number)
    const ids = await Promise.all(numbers.map((number) => nodes[number % NODES]!.start('subject', number)))
    const count = async (status: string): Promise<number> =>
      (await server.query(`SELECT FROM ${schema}.runs WHERE status = $1`, [status])).length
    await until('every run is executed', async () => (await count('running')) === RUNS, PATIENT)
    // Nodes that have just started take nothing over: the test is about those that might.
    await wait(LEASE_MS + LEASE_MS / 3)
    await stopFor(OUTAGE_MS)
    // Every node has had the time to take what it should not.
    await wait(2 * LEASE_MS)
    proceed.resolve()
    await until('every run has ended', async () => (await count('running')) === 0, PATIENT)
    const logs = await Promise.all(ids.map((id, number) => nodes[number % NODES]!.log(id)))
    const ends = logs.map(
      (log) => `${log.at(-1)!.type} after ${log.filter(({ type }) => type === 'run.started').length}`,
    )
    expect(new Set(ends)).toEqual(new Set(['run.completed after 1']))
    expect(textOf(logs[0]!)).toBe(`a${'.'.repeat(20)}b`)
  },
)

test('[RUN-1] a run that could not write for longer than the outage timeout is recovered, though its agent is silent', async () => {
  const speak = Promise.withResolvers<void>()
  const schema = 'beyond'
  const component = subject(
    async function* (_, { attempt, signal }) {
      yield `[${attempt}]`
      if (attempt > 1) return
      await speak.promise
      yield 'lost with the outage'
      await new Promise((_resolve, reject) => signal.addEventListener('abort', reject))
    },
    { recovery: 'retry' },
  )
  const nodes = await openNodes(component, { schema, outageTimeoutMs: 1000 })
  const id = await nodes[0]!.start('subject')
  await nodes[0]!.emitted(id, 'text.delta')
  await server.stop('SIGQUIT')
  speak.resolve()
  await wait(LEASE_MS)
  await server.start()
  expect(textOf(await nodes[1]!.ended(id, 60_000))).toBe('[2]')
})
