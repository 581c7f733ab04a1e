/** A store whose requests to a real server can be changed or dropped on the way. */
import * as nats from '@nats-io/transport-node'
import { onTestFinished } from 'vitest'
import type { Logger } from '../../src/core/ports/logger.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { Alarms } from '../../src/stores/nats/following/alarms.ts'
import { JetStream } from '../../src/stores/nats/connection/jetstream.ts'
import { setUp } from '../../src/stores/nats/setup.ts'
import { NatsStore } from '../../src/stores/nats/store.ts'

export type RequestData = Uint8Array | string | undefined

/** Instead of data: nothing is sent. */
export const DROP = Symbol('drop')

/** The data to send. */
export type Tamper = (subject: string, data: RequestData, connection: nats.NatsConnection) => RequestData | typeof DROP

export interface TamperedOptions {
  readonly name: string
  readonly tamper: Tamper
  /** Whether a message from the server arrives. Default: all do. */
  readonly receives?: (message: nats.Msg) => boolean
  readonly logger: Logger
  /** Read as from several servers, whose leader may be behind. */
  readonly isReplicated?: boolean
  readonly requestTimeoutMs?: number
}

/** Closed after the test. */
export async function openTampered(
  address: string,
  { name, tamper, receives = () => true, logger, isReplicated = false, requestTimeoutMs = 2000 }: TamperedOptions,
): Promise<Store> {
  const tampered = {
    ...nats,
    connect: async (options?: nats.NodeConnectionOptions) => {
      const connection = await nats.connect(options)
      const publish = connection.publish.bind(connection)
      connection.publish = (subject, data, more) => {
        const sent = tamper(subject, data, connection)
        if (sent !== DROP) publish(subject, sent, more)
      }
      const subscribe = connection.subscribe.bind(connection)
      connection.subscribe = (subject, more) =>
        subscribe(subject, {
          ...more,
          callback: (error, message) => {
            if (receives(message)) void more!.callback!(error, message)
          },
        })
      return connection
    },
  }
  const alarms = new Alarms(logger)
  const jetstream = await JetStream.open(tampered, {
    servers: [address],
    requestTimeoutMs,
    onDiverged: (stream, reason) => alarms.diverged(stream, reason),
    onUnsupportedServer: () => {},
  })
  const { layout } = await setUp(jetstream, { name, partitions: 1 })
  const store = await NatsStore.open({
    jetstream,
    layout,
    isReplicated,
    outageTimeoutMs: 5000,
    now: () => Date.now(),
    alarms,
  })
  onTestFinished(() => store.close())
  return store
}
