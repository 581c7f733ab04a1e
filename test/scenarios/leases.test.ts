/** Leases on a slow database: a healthy node keeps its runs, however many it executes. */
import { inspect } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../../src/core/ports/clock.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { startLoopTime } from '../support/loop-time.ts'
import { aborted, openNode, subject } from '../support/node.ts'
import { startPostgres } from '../support/postgres.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const server = await startPostgres()

const RUNS = 1500
/** Runs started at once. More would wait for a connection longer than a node waits, if the machine is busy. */
const STARTED_AT_ONCE = 50
const LATENCY_MS = 20
const LEASE_MS = 6000
/** How long the database stays slow. */
const SLOW_MS = Number(process.env['HOLDFAST_TEST_LEASES_MS'] ?? 12_000)
const RENEWALS = Math.max(6, Math.floor(SLOW_MS / LEASE_MS) * 2)

const idle = subject(
  async function* (_, { signal }) {
    yield 'a'
    await aborted(signal)
  },
  { recovery: 'retry' },
)

test(
  `[RUN-1] two nodes with ${RUNS} idle runs and ${LATENCY_MS} ms to the database lose no lease`,
  { timeout: 240_000 + 4 * SLOW_MS },
  async () => {
    const proxy = await startTcpProxy(server.port)
    const losses: string[] = []
    // A process that gets no CPU for the length of a lease loses it, and rightly: here no time passes meanwhile.
    const elapsed = startLoopTime()
    const began = Date.now()
    const clock: Clock = { now: () => began + elapsed(), elapsed }
    const nodes = await Promise.all(
      [0, 1].map(async () => {
        const store = await openPostgresStore({
          url: server.url.replace(String(server.port), String(proxy.port)),
          clock,
        })
        onTestFinished(() => store.close())
        const warn = (fields: object, line: string): void => void losses.push(`${line}: ${inspect(fields)}`)
        const logger = { ...silentLogger, warn }
        const limits = { leaseMs: LEASE_MS, maxConcurrentRuns: RUNS, drainTimeoutMs: 0 }
        return openNode({ components: [idle], store, limits, logger, clock })
      }),
    )
    const ids: string[] = []
    while (ids.length < RUNS) {
      const batch = Array.from({ length: STARTED_AT_ONCE }, (_, number) => nodes[number % 2]!.start('subject'))
      ids.push(...(await Promise.all(batch)))
      await untilRunning(ids.length)
    }
    proxy.delay(LATENCY_MS)
    const slowUntil = performance.now() + SLOW_MS
    const seen = new Map<string, Set<string>>()
    await until(
      `both nodes renewed their leases ${RENEWALS} times`,
      async () => {
        const owners = await server.query<{ owner: string; until: string }>('SELECT owner, until FROM holdfast.owners')
        for (const { owner, until: moment } of owners) seen.set(owner, (seen.get(owner) ?? new Set()).add(moment))
        const renewed = [...seen.values()].filter(({ size }) => size > RENEWALS).length === 2
        return renewed && performance.now() >= slowUntil
      },
      { withinMs: 90_000 + 3 * SLOW_MS, everyMs: 200 },
    )
    proxy.delay(0)
    const taken = await server.query(`SELECT id FROM holdfast.heads WHERE epoch > 1`)
    expect({ taken, losses }).toEqual({ taken: [], losses: [] })
  },
)

async function untilRunning(count: number): Promise<void> {
  let running: number | undefined
  await until(
    () => `${count} runs are executed, not ${running}`,
    async () => {
      const [row] = await server.query<{ count: string }>(`SELECT count(*) FROM holdfast.runs WHERE status = 'running'`)
      running = Number(row!.count)
      return running === count
    },
  )
}
