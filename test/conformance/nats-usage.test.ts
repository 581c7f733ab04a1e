/** Usage on NATS is counted after every relevant stream has been read to its end. */
import * as nats from '@nats-io/transport-node'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { Alarms } from '../../src/stores/nats/following/alarms.ts'
import { JetStream } from '../../src/stores/nats/connection/jetstream.ts'
import { setUp } from '../../src/stores/nats/setup.ts'
import { NatsStore } from '../../src/stores/nats/store.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { startNats } from '../support/nats.ts'

const server = await startNats()

/** Messages of some streams that a node does not get until they are released. */
class Withheld {
  readonly #streams = new Set<string>()
  #deliveries: (() => void)[] = []

  hold(stream: string): void {
    this.#streams.add(stream)
  }

  letGo(): void {
    this.#streams.clear()
    for (const deliver of this.#deliveries.splice(0)) deliver()
  }

  /** A JetStream client that delays messages of held streams. */
  jetstream(jetstream: JetStream): JetStream {
    const connection = overriding(jetstream.connection, {
      subscribe: (inbox: string, { callback, ...options }: nats.SubscriptionOptions) =>
        jetstream.connection.subscribe(inbox, {
          ...options,
          callback: (error, message) => {
            const [, stream = ''] = /^_INBOX\.([^.]+)\./.exec(inbox) ?? []
            if (this.#streams.has(stream)) this.#deliveries.push(() => void callback!(error, message))
            else void callback!(error, message)
          },
        }),
    })
    return overriding(jetstream, { connection })
  }
}

function overriding<Subject extends object>(subject: Subject, overridden: Readonly<Record<string, unknown>>): Subject {
  return new Proxy(subject, {
    get: (target, name) => {
      if (typeof name === 'string' && Object.hasOwn(overridden, name)) return overridden[name]
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

async function open(name: string, wrap: (jetstream: JetStream) => JetStream = (jetstream) => jetstream) {
  const jetstream = await JetStream.open(nats, {
    servers: [server.address],
    requestTimeoutMs: 2000,
    onDiverged: () => {},
    onUnsupportedServer: () => {},
  })
  const { layout } = await setUp(jetstream, { name, partitions: 2 })
  const options = { isReplicated: false, outageTimeoutMs: 60_000, now: () => Date.now() }
  const store = await NatsStore.open({
    ...options,
    jetstream: wrap(jetstream),
    layout,
    alarms: new Alarms(silentLogger),
  })
  onTestFinished(() => store.close())
  return { store, streams: [...layout.logs, ...layout.states].map(({ stream }) => stream) }
}

/** Enough that every partition gets some. */
const EACH = 12

test('[SEC-2] NATS: usage waits for every stream of runs and of documents', async () => {
  const withheld = new Withheld()
  const { store: here, streams } = await open('usage')
  const { store: there } = await open('usage', (jetstream) => withheld.jetstream(jetstream))
  expect(streams).toHaveLength(4)
  for (const [round, stream] of streams.entries()) {
    withheld.hold(stream)
    for (let at = 0; at < EACH; at++) {
      await here.create(newRun(`run_${round}_${at}`, new Date().toISOString()))
      await here.documents.put({ owner: 'owner-1', collection: 'notes', id: `${round}-${at}`, body: at })
    }
    const counted = there.usage.of('owner-1')
    // Responses about all streams arrive twice after those that the count requested.
    for (let requested = 0; requested < 2; requested++) await Promise.race([counted, there.size()])
    withheld.letGo()
    const stored = (round + 1) * EACH
    expect(await counted, stream).toMatchObject({ runs: stored, documents: stored + 1 })
  }
})
