/** A node leaves a server that is partitioned from its cluster but still serves clients. */
import { expect, onTestFinished, test } from 'vitest'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { createNatsCluster } from '../support/nats.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const SERVERS = 3
const PATIENT = { withinMs: 180_000, everyMs: 50 }

test(
  '[RUN-1] NATS: a node renews its leases whichever server is cut off from the others',
  { timeout: 240_000 },
  async () => {
    const routes: { readonly ends: readonly number[]; readonly proxy: TcpProxy }[] = []
    const servers = await createNatsCluster(SERVERS, {
      routePort: async (from, to, port) => {
        const proxy = await startTcpProxy(port)
        routes.push({ ends: [from, to], proxy })
        return proxy.port
      },
    })
    onTestFinished(() => Promise.all(servers.map((server) => server.remove())).then(() => undefined))
    await Promise.all(servers.map((server) => server.start()))
    const addresses = servers.map(({ address }) => address)
    const store = await openNatsStore({ servers: addresses, partitions: 1, replicas: SERVERS, requestTimeoutMs: 1000 })
    onTestFinished(() => store.close())
    const renews = (): Promise<boolean> =>
      store.renew('worker-1', 10_000, []).then(
        () => true,
        () => false,
      )
    // The node is connected to one of them, so it has to move at least once.
    for (let cutOff = 0; cutOff < SERVERS; cutOff++) {
      const cut = routes.filter(({ ends }) => ends.includes(cutOff)).map(({ proxy }) => proxy)
      for (const proxy of cut) proxy.block()
      await until(`it renews without server ${cutOff}`, renews, PATIENT)
      for (const proxy of cut) {
        proxy.heal()
        proxy.cut()
      }
      await until('it renews again', renews, PATIENT)
    }
    expect(store.health()).toMatchObject({ ok: true })
  },
)
