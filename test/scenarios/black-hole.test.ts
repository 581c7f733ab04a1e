/** A node whose packets to the store are dropped silently: it reports the outage soon, and requests do not hang. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { labAgent } from '../../src/agents/lab/agent.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { call, startRun, untilFinished } from '../support/http.ts'
import { startLoopTime } from '../support/loop-time.ts'
import { startNats } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

/** As documented. */
const READY_MS = 2000
const REQUEST_MS = 10_000
/** Between a timer and its answer, in the time of the loop that both share. */
const SLACK_MS = 3000

const [postgres, nats] = [await startPostgres(), await startNats()]
const stores: Record<string, { readonly port: number; readonly open: (port: number) => Promise<Store> }> = {
  PostgreSQL: {
    port: postgres.port,
    open: (port) => openPostgresStore({ url: postgres.url.replace(`:${postgres.port}/`, `:${port}/`) }),
  },
  NATS: { port: nats.port, open: (port) => openNatsStore({ servers: [`127.0.0.1:${port}`], partitions: 1 }) },
}

describe.each(Object.entries(stores))('a node whose packets to %s are dropped', (_, { port, open }) => {
  test('is not ready after two seconds, rejects requests within ten, and recovers when the store is reachable again', async () => {
    const proxy = await startTcpProxy(port)
    const store = await open(proxy.port)
    const server = await createServer({ components: [labAgent()], store, limits: { drainTimeoutMs: 0 } })
    onTestFinished(() => server.close())
    const { id: run } = await startRun(server, 'text 1')
    await untilFinished(server, run)
    proxy.block()
    const timed = async (method: string, path: string, body?: object): Promise<[string, number, number]> => {
      const elapsed = startLoopTime()
      const { status } = await call(server, method, path, { body })
      return [`${method} ${path}`, status, elapsed()]
    }
    const ready = await timed('GET', '/health/ready')
    expect(ready[1]).toBe(503)
    expect(ready[2]).toBeLessThan(READY_MS + SLACK_MS)
    const requests = await Promise.all([
      timed('GET', '/runs'),
      timed('GET', '/runs/run_unknown'),
      timed('POST', '/runs', { component: 'lab', input: 'text 1' }),
      timed('POST', `/runs/${run}/stop`, {}),
    ])
    for (const [request, status, took] of requests) {
      expect([request, status]).toEqual([request, 503])
      expect(took, request).toBeLessThan(REQUEST_MS + SLACK_MS)
    }
    proxy.heal()
    proxy.cut()
    await untilFinished(server, (await startRun(server, 'text 1')).id)
  }, 120_000)
})
