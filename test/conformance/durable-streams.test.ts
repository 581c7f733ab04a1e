/** The published conformance suite of Durable Streams, against a server with its log on disk. */
import { runConformanceTests } from '@durable-streams/server-conformance-tests'
import { afterAll, beforeAll, describe } from 'vitest'
import type { Server } from '../../src/server/create-server.ts'
import { openInProcess } from '../support/in-process.ts'
import { temporarySuiteFolder } from '../support/temporary.ts'

const LONG_POLL_MS = 500

describe('Durable Streams: the published suite', () => {
  const folder = temporarySuiteFolder()
  // The suite reads the address when a test begins.
  const suite = { baseUrl: '', longPollTimeoutMs: LONG_POLL_MS, subscriptions: true }
  let server: Server | undefined

  beforeAll(async () => {
    server = await openInProcess({
      path: `${folder}/runs.db`,
      limits: { longPollTimeoutMs: LONG_POLL_MS },
      corsOrigins: ['https://example.com'],
      streamWebhooks: { loopback: true },
    })
    suite.baseUrl = server.url
  })
  afterAll(() => server?.close())

  runConformanceTests(suite)
})
