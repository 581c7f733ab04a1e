/** Leases are compared with the time of the NATS servers, so wrong clocks of nodes have no effect. */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Store } from '../../src/core/ports/store.ts'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { startNats } from '../support/nats.ts'
import { until } from '../support/until.ts'
import { startRun } from './failing-servers.ts'

const HOUR_MS = 3_600_000
const servers = { oldest: await startNats({ release: 'oldest' }), newest: await startNats() }
let names = 0

/** Runs `act` with a clock that is wrong by `wrongByMs`. */
async function withClock<Result>(wrongByMs: number, act: () => Promise<Result>): Promise<Result> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + wrongByMs })
  try {
    return await act()
  } finally {
    vi.useRealTimers()
  }
}

async function open(address: string, name: string): Promise<Store> {
  const store = await openNatsStore({ servers: [address], partitions: 1, name })
  onTestFinished(() => store.close())
  return store
}

test.each(['oldest', 'newest'] as const)(
  '[RUN-1] NATS: the lease of a node whose clock was two hours ahead expires when its time is over (%s server)',
  async (release) => {
    const [name, { address }] = [`clocks-${++names}`, servers[release]]
    const { id } = await withClock(2 * HOUR_MS, async () => {
      const ahead = await open(address, name)
      const run = await startRun(ahead, { claim: { worker: 'ahead', ttlMs: 300 } })
      await ahead.renew('ahead', 300, ['subject'])
      return run
    })
    const right = await open(address, name)
    const claimed = await until('the run can be taken', () => right.claim(id, 'right', 10_000))
    expect(claimed.epoch).toBe(2)
  },
)

test.each(['oldest', 'newest'] as const)(
  '[LOG-4] NATS: nobody takes the run of a node whose clock is two hours behind (%s server)',
  async (release) => {
    const [name, { address }] = [`clocks-${++names}`, servers[release]]
    const { id } = await withClock(-2 * HOUR_MS, async () =>
      startRun(await open(address, name), { claim: { worker: 'behind', ttlMs: 60_000 } }),
    )
    const right = await open(address, name)
    expect(await right.claim(id, 'right', 10_000)).toBeUndefined()
    expect(await right.claimable(10)).toEqual([])
    const ahead = await withClock(2 * HOUR_MS, () => right.claim(id, 'ahead', 10_000))
    expect(ahead).toBeUndefined()
  },
)
