/** One message per run and commit, published with the official client after the previous one was acknowledged. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { toNats } from '../../src/server/store/nats-address.ts'
import { type BareLoad, idOf, textOf } from './bare.ts'

/** Same as the store's partitions. */
const PARTITIONS = 4

export async function bareNats({ address, runs, eventsAtOnce, meter }: BareLoad): Promise<void> {
  const { servers, name = 'bare', replicas = 1 } = toNats(address)
  const connection = await connect({ servers: [...servers] })
  const manager = await jetstreamManager(connection)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await manager.streams.add({
      name: `${name}-${partition}`,
      subjects: [`${name}.${partition}.>`],
      num_replicas: replicas,
    })
  }
  const client = jetstream(connection)
  const write = async (run: number): Promise<void> => {
    const subject = `${name}.${run % PARTITIONS}.${idOf(run)}`
    let text = textOf(run, 0, eventsAtOnce)
    for (let first = eventsAtOnce; !meter.isDone; first += eventsAtOnce) {
      const acknowledged = client.publish(subject, text, { timeout: ANSWER_MS })
      text = textOf(run, first, eventsAtOnce)
      await acknowledged
      meter.add(eventsAtOnce)
    }
  }
  await Promise.all(Array.from({ length: runs }, (_, run) => write(run)))
  await connection.close()
}

const ANSWER_MS = 30_000
