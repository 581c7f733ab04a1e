/** A node that starts to follow a stream detects when it has read all of it, even if the server's counts are wrong. */
import * as nats from '@nats-io/transport-node'
import { expect, onTestFinished, test } from 'vitest'
import { Follower } from '../../src/stores/nats/following/follower.ts'
import { JetStream } from '../../src/stores/nats/connection/jetstream.ts'
import { startNats } from '../support/nats.ts'
import { until } from '../support/until.ts'

const server = await startNats()

type CreateConsumer = (create: (overrides: object) => Promise<object>) => Promise<object>

/** A jetstream over which consumers are made in another way. */
function misled(
  jetstream: JetStream,
  createConsumer: CreateConsumer,
  onReconnect?: (listener: () => void) => void,
): JetStream {
  const overridden: Record<string, unknown> = {
    api: (what: string, body: { config?: object }) =>
      what.startsWith('CONSUMER.CREATE')
        ? createConsumer((overrides) =>
            jetstream.api<object>(what, { ...body, config: { ...body.config, ...overrides } }),
          )
        : jetstream.api(what, body),
    ...(onReconnect && { onReconnect }),
  }
  return new Proxy(jetstream, {
    get: (target, name) => {
      if (typeof name === 'string' && name in overridden) return overridden[name]
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

async function openStream(name: string): Promise<JetStream> {
  const jetstream = await JetStream.open(nats, {
    servers: [server.address],
    requestTimeoutMs: 2000,
    onDiverged: () => {},
    onUnsupportedServer: () => {},
  })
  onTestFinished(() => jetstream.close())
  await jetstream.api(`STREAM.CREATE.${name}`, { name, subjects: [`${name}.>`], storage: 'file', allow_direct: true })
  return jetstream
}

/** Messages that a follower of a stream received, by sequence. */
function follow(jetstream: JetStream, stream: string): { readonly follower: Follower; readonly seen: number[] } {
  const seen: number[] = []
  const address = { stream, subject: `${stream}.>` }
  const follower = new Follower({ jetstream, address, onMessage: (_subject, _head, seq) => seen.push(seq) })
  onTestFinished(() => follower.close())
  return { follower, seen }
}

test('NATS: a message that was counted, and removed before it arrived, blocks no reader', async () => {
  const jetstream = await openStream('counted')
  await jetstream.publish({ stream: 'counted', subject: 'counted.a', head: '{}' })
  await jetstream.purge('counted', 'counted.a')
  const { follower, seen } = follow(
    misled(jetstream, async (create) => ({ ...(await create({})), num_pending: 1 })),
    'counted',
  )
  await follower.start()
  await jetstream.publish({ stream: 'counted', subject: 'counted.b', head: '{}' })
  await follower.caughtUp()
  expect(seen).toEqual([2])
})

test('[LOG-2] NATS: messages that a lagging replica did not deliver are delivered after a reconnect', async () => {
  const jetstream = await openStream('behind')
  await jetstream.publish({ stream: 'behind', subject: 'behind.a', head: '{}' })
  let reconnected: (() => void) | undefined
  let consumers = 0
  const createConsumer: CreateConsumer = async (create) => {
    // The first one is on a replica that does not have the message yet.
    if (++consumers > 1) return create({})
    return { ...(await create({ deliver_policy: 'new' })), num_pending: 0 }
  }
  const lagging = misled(jetstream, createConsumer, (listener) => (reconnected = listener))
  const { follower, seen } = follow(lagging, 'behind')
  const started = follower.start()
  await until('there is a consumer', () => consumers === 1)
  reconnected!()
  await started
  await follower.caughtUp()
  expect(seen).toEqual([1])
})
