/** Invalid retry delays of a server or proxy: how long the client waits. */
import { expect, test, vi } from 'vitest'
import { ConnectionError, createClient } from '../../src/client/index.ts'
import { collect } from './collect.ts'

const RETRY_MS = 40

test.each(['-1000', '"soon"', 'null', '{}'])(
  'client: a stream that closes and asks for a delay of %s is retried after the default delay',
  async (retryDelayMs) => {
    const body = `event: stream.closing\ndata: {"reason":"drain","retryMs":${retryDelayMs}}\n\n`
    const client = createClient({
      url: 'http://127.0.0.1:1',
      retries: 1,
      retryDelayMs: RETRY_MS,
      fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
    })
    const timers = vi.spyOn(globalThis, 'setTimeout')
    try {
      await expect(collect(client.runs.events('run_1'))).rejects.toThrow(ConnectionError)
      const delays = timers.mock.calls.map(([, delay]) => delay)
      expect(delays).toContainEqual(expect.closeTo(RETRY_MS * 0.75, -1.5))
    } finally {
      timers.mockRestore()
    }
  },
)
