/** Many nodes on one cluster of NATS servers. */
import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { startNatsCluster, urlOf } from '../support/nats.ts'
import { weatherStorm } from './nodes/storm.ts'

const PARTITIONS = 4
const servers = await startNatsCluster(3)

test('[LOG-1] [LOG-3] [LOG-4] [LOG-5] [RUN-1] [RUN-2] [RUN-4] three nodes on one NATS cluster die in turn, and no client of any run notices', async () => {
  const { recovered, kills } = await weatherStorm(`${urlOf(servers)}?partitions=${PARTITIONS}&replicas=3`, readLogs)
  expect(recovered).toBeGreaterThan(0)
  expect(kills).toBeGreaterThan(0)
}, 480_000)

/** What the header of a message says: run, bytes before the records, where a large content is, and that there is no such run. */
interface Header {
  readonly i?: string
  readonly db?: number
  readonly x?: readonly [name: string, count: number]
  readonly z?: string
}

/** The logs as the streams have them, in the order of their messages. */
async function readLogs(): Promise<Map<string, Buffer>> {
  const connection = await connect({ servers: servers.map(({ address }) => address) })
  const pieces = new Map<string, Buffer[]>()
  for (let partition = 0; partition < PARTITIONS; partition++) {
    for (const message of await messagesOf(connection, `holdfast-log-${partition}`)) {
      const { i: id, db: start = 0, x: parts, z: gone } = JSON.parse(message.headers!.get('Holdfast')) as Header
      if (id === undefined || gone !== undefined) continue
      const content = parts === undefined ? message.data : await partsOf(connection, partition, id, parts)
      pieces.set(id, [...(pieces.get(id) ?? []), Buffer.from(content.subarray(start))])
    }
  }
  await connection.close()
  return new Map([...pieces].map(([id, found]) => [id, Buffer.concat(found)]))
}

async function messagesOf(connection: NatsConnection, stream: string): Promise<Msg[]> {
  const { state } = (await connection.request(`$JS.API.STREAM.INFO.${stream}`, undefined, { timeout: 10_000 })).json<{
    state: { last_seq: number }
  }>()
  const messages: Msg[] = []
  for (let seq = 1; seq <= state.last_seq; seq += 100) {
    const count = Math.min(100, state.last_seq - seq + 1)
    const batch = Array.from({ length: count }, (_, at) => get(connection, stream, { seq: seq + at }))
    messages.push(...(await Promise.all(batch)))
  }
  return messages.filter(({ headers }) => headers?.hasError === false)
}

async function partsOf(
  connection: NatsConnection,
  partition: number,
  id: string,
  [name, count]: readonly [string, number],
): Promise<Buffer> {
  const parts = Array.from({ length: count }, (_, number) => {
    const subject = `holdfast.state.${partition}.part.${id}.${name}.${number}`
    return get(connection, `holdfast-state-${partition}`, { last_by_subj: subject })
  })
  return Buffer.concat((await Promise.all(parts)).map(({ data }) => data))
}

function get(connection: NatsConnection, stream: string, query: object): Promise<Msg> {
  return connection.request(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(query), { timeout: 10_000 })
}
