/** NATS servers fail under load: one is partitioned, a majority is gone, all are killed. Clients only notice a delay. */
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createNatsCluster, type NatsServer, urlOf } from '../support/nats.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { PARTITIONS, readNatsLogs } from './nodes/nats-logs.ts'
import { weatherFault } from './nodes/storm.ts'

const RUNS = Number(process.env['HOLDFAST_TEST_FAULT_RUNS'] ?? 40)
const ROUNDS = Number(process.env['HOLDFAST_TEST_FAULT_ROUNDS'] ?? 1)
/** The length of the fault itself: longer than servers take to elect a leader, and than the leases of the nodes. */
const FAULT_MS = Number(process.env['HOLDFAST_TEST_FAULT_MS'] ?? 12_000)
/** How long runs are started before the fault, so that some are in progress. Not asserted. */
const BEFORE_MS = 2000

interface Route {
  readonly from: number
  readonly to: number
  readonly proxy: TcpProxy
}

/** Servers that reach each other through proxies only, until the test is over. */
async function startServers(): Promise<{ servers: NatsServer[]; routes: Route[] }> {
  const routes: Route[] = []
  const servers = await createNatsCluster(3, {
    routePort: async (from, to, port) => {
      const proxy = await startTcpProxy(port)
      routes.push({ from, to, proxy })
      return proxy.port
    },
  })
  onTestFinished(() => Promise.all(servers.map((server) => server.remove())).then(() => undefined))
  await Promise.all(servers.map((server) => server.start()))
  return { servers, routes }
}

type Fault = (servers: readonly NatsServer[], routes: readonly Route[]) => Promise<void>

/** A silent partition between one server and the others; clients still reach it. */
const cutOff: Fault = async (_, routes) => {
  for (let round = 0; round < ROUNDS; round++) {
    await wait(BEFORE_MS)
    const own = routes.filter(({ from, to }) => from === round % 3 || to === round % 3)
    for (const { proxy } of own) proxy.block()
    await wait(FAULT_MS)
    for (const { proxy } of own) {
      proxy.heal()
      proxy.cut()
    }
  }
}

const killMost: Fault = async (servers) => {
  for (let round = 0; round < ROUNDS; round++) {
    await wait(BEFORE_MS)
    const victims = [servers[round % 3]!, servers[(round + 1) % 3]!]
    await Promise.all(victims.map((server) => server.stop('SIGKILL')))
    await wait(FAULT_MS)
    await Promise.all(victims.map((server) => server.start()))
  }
}

const killAll: Fault = async (servers) => {
  for (let round = 0; round < ROUNDS; round++) {
    await wait(BEFORE_MS)
    await Promise.all(servers.map((server) => server.stop('SIGKILL')))
    await Promise.all(servers.map((server) => server.start()))
  }
}

test.each<readonly [string, Fault]>([
  ['a server that is cut off from the others', cutOff],
  ['a majority of the servers that is killed', killMost],
  ['all servers killed at once', killAll],
])(
  '[LOG-1] [LOG-2] [LOG-3] [LOG-4] [LOG-5] [RUN-1] NATS: %s: no event is lost, duplicated or changed, and every run ends',
  async (_, inflict) => {
    const { servers, routes } = await startServers()
    const store = `${urlOf(servers)}?partitions=${PARTITIONS}&replicas=3`
    const { outcomes } = await weatherFault(
      store,
      () => readNatsLogs(servers),
      RUNS,
      () => inflict(servers, routes),
    )
    expect(Object.values(outcomes).reduce((sum, count) => sum + count, 0)).toBe(RUNS)
  },
  300_000 + ROUNDS * 60_000,
)
