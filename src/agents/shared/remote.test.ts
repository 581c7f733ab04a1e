import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { eventBatchesOf, request } from './remote.ts'

async function listen(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([301, 302, 303, 307, 308])(
  'remote agent: a redirect (%i) is rejected, and neither key nor prompt is sent to its target',
  async (status) => {
    const got: IncomingMessage[] = []
    const other = await listen((incoming, outgoing) => {
      got.push(incoming)
      outgoing.end('{}')
    })
    const url = await listen((_, outgoing) => outgoing.writeHead(status, { location: `${other}/elsewhere` }).end())
    const requested = request({
      url,
      method: 'POST',
      headers: { 'x-api-key': 'K3Y' },
      body: new URLSearchParams({ message: 'private prompt' }),
      signal: AbortSignal.timeout(30_000),
      timeoutMs: 30_000,
    })
    await expect(requested).rejects.toMatchObject({
      failure: {
        code: 'upstream_http_error',
        message: expect.stringContaining('redirect') as string,
        details: { status },
      },
    })
    expect(got).toEqual([])
  },
)

test('remote agent: a stream is idle while it is waited for, not while its reader is busy', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let send: (text: string) => void = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (text) => controller.enqueue(new TextEncoder().encode(text))
    },
  })
  const events = eventBatchesOf(new Response(body), 1000)
  send('data: one\n\n')
  expect(await events.next()).toMatchObject({ value: [{ data: 'one' }] })
  await vi.advanceTimersByTimeAsync(60_000) // the reader is busy
  const second = events.next()
  await vi.advanceTimersByTimeAsync(999)
  send('data: two\n\ndata: three\n\n')
  expect(await second).toMatchObject({ value: [{ data: 'two' }, { data: 'three' }] })
  const third = events.next().catch((cause: unknown) => cause)
  await vi.advanceTimersByTimeAsync(1000)
  expect(await third).toMatchObject({ code: 'upstream_idle' })
})
