/** Many nodes on one cluster of NATS servers. */
import { expect, test } from 'vitest'
import { startNatsCluster, urlOf } from '../support/nats.ts'
import { PARTITIONS, readNatsLogs } from './nodes/nats-logs.ts'
import { STORM_MS, weatherStorm } from './nodes/storm.ts'

const servers = await startNatsCluster(3)

test(
  '[LOG-1] [LOG-3] [LOG-4] [LOG-5] [RUN-1] [RUN-2] [RUN-4] NATS: three nodes are killed in turn, and every client gets its whole run',
  async () => {
    const { recovered, kills } = await weatherStorm(`${urlOf(servers)}?partitions=${PARTITIONS}&replicas=3`, () =>
      readNatsLogs(servers),
    )
    expect(recovered).toBeGreaterThan(0)
    expect(kills).toBeGreaterThan(0)
  },
  STORM_MS,
)
