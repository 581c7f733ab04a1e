import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import type { Server } from '../../src/server/create-server.ts'
import { call, eventsIn, readLog } from '../support/http.ts'
import { Random } from '../support/random.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { collect } from './collect.ts'
import { drawFault, startFaultProxy } from './fault-proxy.ts'
import { withSeed } from '../support/with-seed.ts'

const RUNS = Number(process.env['HOLDFAST_TEST_CLIENT_RUNS'] ?? 120)
const AT_ONCE = 40

/** Small logs with something of everything, and characters of every width. */
const scripts = [
  'text 5',
  'say "dünen 漢字 🌊"; text 3 every 2',
  'text 40; tool search; step think',
  'reason 3; say "é"; big 3; text 2 every 5',
  'say "🌊🌊🌊🌊"; custom note; throw boom',
  'text 3 every 10; reject "not today"',
]

test(
  `[LOG-1, SUB-2, RUN-4] client: behind a network that cuts, closes, delays, buffers, strips, splits, hangs and lies, ${RUNS} seeded runs are started once and delivered exactly once`,
  () =>
    withSeed(async (random) => {
      const server = await serveNative({ limits: { retryDelayMs: 1, heartbeatIntervalMs: 20 } })
      const proxy = await startFaultProxy(() => server.url, { draw: () => drawFault(random) })
      const client = createClient({ url: proxy.url, retries: 200, retryDelayMs: 1, idleTimeoutMs: 250 })
      const one = async (number: number): Promise<void> => {
        const input = new Random(random.seed + number).pick(scripts)
        const run = await client.runs.start({ component: 'lab', input })
        expect(await collect(run.events())).toEqual(eventsIn(await readLog(server, run.id)))
      }
      let next = 0
      const worker = async (): Promise<void> => {
        while (next < RUNS) await one(next++)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))

      expect(await countRuns(server)).toBe(RUNS)
      for (const fault of ['instead', 'loses', 'after', 'idleMs', 'delayMs', 'buffer', 'stripsComments', 'split'])
        expect(proxy.counts.get(fault), fault).toBeGreaterThan(RUNS / 40)
    }),
  300_000,
)

async function countRuns(server: Server): Promise<number> {
  let count = 0
  let cursor: string | undefined
  do {
    const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { body } = await call<{ runs: unknown[]; cursor?: string }>(server, 'GET', `/runs?limit=200${query}`)
    count += body.runs.length
    cursor = body.cursor
  } while (cursor !== undefined)
  return count
}
