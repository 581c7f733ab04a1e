/** A cluster of three NATS servers. A store is a set of streams with a common prefix, with three replicas or one. */
import { jetstreamManager, type StreamInfo } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { createNatsCluster, type NatsServer, urlOf } from '../../test/support/nats.ts'
import { cpuMicrosOf, type Medium } from './medium.ts'

const SERVERS = 3

export async function startNatsServers(): Promise<readonly NatsServer[]> {
  const servers = await createNatsCluster(SERVERS)
  await Promise.all(servers.map((server) => server.start()))
  return servers
}

export async function natsMedium(servers: readonly NatsServer[], replicas: 1 | 3): Promise<Medium> {
  const connection = await connect({ servers: servers.map(({ address }) => address) })
  const manager = await jetstreamManager(connection)
  let places = 0
  const streamsOf = async (address: string): Promise<StreamInfo[]> => {
    const found: StreamInfo[] = []
    const name = new URL(address.replace(/,[^?]*/, '')).searchParams.get('name')!
    for await (const stream of manager.streams.list()) if (stream.config.name.startsWith(`${name}-`)) found.push(stream)
    return found
  }
  return {
    name: replicas === 3 ? 'nats' : 'nats R1',
    shared: true,
    place: () => `${urlOf(servers)}?name=bench${replicas}x${places++}&replicas=${replicas}`,
    async usage(address) {
      const streams = await streamsOf(address)
      const storedBytes = streams.reduce((sum, { state }) => sum + state.bytes, 0)
      const cpuMicros = servers.reduce((sum, { pid }) => sum + cpuMicrosOf(pid), 0)
      return { cpuMicros, storedBytes, replicatedBytes: storedBytes }
    },
    async clear(address) {
      for (const { config } of await streamsOf(address)) await manager.streams.delete(config.name)
    },
    stop: () => connection.close(),
  }
}
