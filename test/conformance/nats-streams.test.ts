/** Durable Streams and their subscriptions on NATS JetStream. */
import { describe } from 'vitest'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { startNats } from '../support/nats.ts'
import { testStreams } from './shared-streams.ts'

const server = await startNats()
let names = 0

describe('NATS', () => {
  testStreams({
    newPlace: () => `streams-${++names}`,
    open: (name) => openNatsStore({ servers: [server.address], name }),
  })
})
