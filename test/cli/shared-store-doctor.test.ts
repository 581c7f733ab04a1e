/** `holdfast doctor` on stores that several nodes share. */
import { describe, expect, test } from 'vitest'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { startNats, startNatsCluster, urlOf } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { callWith, NOBODY } from './called.ts'

const call = callWith(NOBODY)
const [postgres, single, cluster] = [await startPostgres(), await startNats(), await startNatsCluster(3)]

async function findingsOf(store: string): Promise<Record<string, string>> {
  const { stdout } = await call('doctor', '--store', store, '--json')
  const lines = stdout.trim().split('\n')
  const findings = lines.map((line) => JSON.parse(line) as { subject: string; state: string; message: string })
  return Object.fromEntries(findings.map(({ subject, state, message }) => [subject, `${state}: ${message}`]))
}

describe('holdfast doctor on a NATS store', () => {
  test('reports that there is no store yet, and creates nothing', async () => {
    const store = `nats://user:hunter2@${single.address}?name=nothing`
    for (let times = 0; times < 2; times++) {
      const { store: finding } = await findingsOf(store)
      expect(finding).toMatch(/^note: nats:\/\/127\.0\.0\.1:\d+\?name=nothing: nats-server \d.*no streams yet/)
    }
  })

  test('reports that a single server stores each message, and when it syncs', async () => {
    await (await openNatsStore({ servers: [single.address], name: 'alone', partitions: 2 })).close()
    const findings = await findingsOf(`nats://${single.address}?name=alone&monitor=${single.monitor}`)
    expect(findings['store']).toMatch(/^good: .*nats-server \d+\.\d+\.\d+, 2 partitions/)
    expect(findings['replicas']).toBe('note: each message is stored on one server only, and lost with its disk')
    expect(findings['sync']).toMatch(/^note: files are synced/)
    expect((await findingsOf(`nats://${single.address}?name=alone`))['sync']).toMatch(/is unknown/)
    expect((await findingsOf(`nats://${single.address}?name=alone&replicas=3`))['replicas']).toBe(
      'bad: 1, but 3 are configured',
    )
  })

  test('reports the number of replicas, their servers, and missing servers', async () => {
    const servers = cluster.map(({ address }) => address)
    await (await openNatsStore({ servers, cluster: 'test', partitions: 1 })).close()
    const findings = await findingsOf(urlOf(cluster))
    expect(findings['replicas']).toBe('good: each message is stored on 3 servers and acknowledged by a majority')
    expect(findings['placement']).toBe('good: in the cluster test')
    await cluster[2]!.stop('SIGKILL')
    const stream = await until('it is noticed', async () => (await findingsOf(urlOf(cluster)))['stream'], {
      withinMs: 180_000,
    })
    expect(stream).toMatch(/^bad: holdfast-\w+-0 is incomplete on n3/)
  })

  test('reports an unreachable server', async () => {
    expect((await findingsOf('nats://user:hunter2@127.0.0.1:1'))['store']).toMatch(/^bad: nats:\/\/127\.0\.0\.1:1: /)
  })
})

describe('holdfast doctor on a PostgreSQL store', () => {
  test('reports versions and how durable acknowledged writes are', async () => {
    expect((await findingsOf(postgres.url))['store']).toMatch(/^note: .*PostgreSQL \d+.*schema 0 of \d/)
    await (await openPostgresStore({ url: postgres.url })).close()
    const findings = await findingsOf(postgres.url)
    expect(findings['store']).toMatch(/^good: postgres:.*PostgreSQL \d+.*schema \d/)
    expect(findings['sync']).toMatch(/^bad: fsync is off/) // as the tests start it
    expect(findings['replicas']).toMatch(/^note: replication is asynchronous/)
  })
})
