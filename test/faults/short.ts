/** Short fault campaigns for the test suite: one round with the faults in sequence. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { INSTALL_MS } from '../support/apt.ts'
import { PYTHON_INSTALL_MS } from '../support/python.ts'
import { testSeed } from '../support/random.ts'
import { type Round, runCampaign } from './campaign.ts'
import { partitionMethod } from './link.ts'
import type { FaultName, StoreName } from './world.ts'

/** Short leases, so that short faults outlast them. */
const LEASE_MS = 3000
const FAULT_MS = 4000
const BOUND_S = 120

export function testFaults(store: StoreName, faults: readonly FaultName[]): void {
  test(
    `[LOG-1] [LOG-2] [LOG-3] [LOG-5] [RUN-1] [RUN-3] [RUN-4] [STO-2] ${store}: the judge finds no violation under ${faults.join(', ')}`,
    { timeout: INSTALL_MS + PYTHON_INSTALL_MS + 600_000 },
    async () => {
      const rounds: Round[] = []
      const seed = testSeed()
      console.log(`${store}: seed ${seed}, faults ${faults.join(', ')}`)
      const skipped = await runCampaign(
        {
          store,
          faults,
          rounds: 1,
          faultMs: FAULT_MS,
          nodes: 3,
          leaseMs: LEASE_MS,
          clients: 6,
          boundS: BOUND_S,
          seed,
          partition: partitionMethod(),
          folder: join(import.meta.dirname, '../../node_modules/.cache/holdfast-faults'),
        },
        (round) => rounds.push(round),
      )
      for (const reason of skipped) console.log(`${store}: skipped ${reason}`)
      // Elsewhere a fault may need what the machine does not have, or not allow.
      expect(process.env['CI'] === 'true' ? skipped : [], 'faults that were not injected').toEqual([])
      const [{ verdict, history }] = rounds as [Round]
      expect(verdict.examples, `seed ${seed}, history ${history}`).toEqual({})
      expect(verdict.runs).toBeGreaterThan(5)
    },
  )
}
