/** Durable Streams and their subscriptions on PostgreSQL. */
import { describe } from 'vitest'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { startPostgres } from '../support/postgres.ts'
import { testStreams } from './shared-streams.ts'

const server = await startPostgres()
let schemas = 0

describe('PostgreSQL', () => {
  testStreams({
    newPlace: () => `streams_${++schemas}`,
    open: (schema) => openPostgresStore({ url: server.url, connections: 3, schema }),
  })
})
