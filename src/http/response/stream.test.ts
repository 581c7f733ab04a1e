import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { until } from '../../../test/support/until.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { defaultLimits, type Limits } from '../../core/model/limits.ts'
import type { Store } from '../../core/ports/store.ts'
import { SubscriptionRegistry } from '../../core/delivery/subscription-registry.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { type StreamFormat, Streams } from './stream.ts'

/** All times are those of the test's clock. Streams are tended four times per heartbeat. */
const HEARTBEAT_MS = 40
const TICK_MS = HEARTBEAT_MS / 4
const STALL_MS = 20 * TICK_MS

const format: StreamFormat = {
  contentType: 'text/plain',
  headers: { 'x-wire': 'test' },
  preamble: 'hello\n\n',
  heartbeat: 'beat\n\n',
  encode: (slice) => slice.bytes,
  notice: (notice) => `notice ${JSON.stringify(notice)}\n\n`,
}

describe('HTTP stream', () => {
  test('[SUB-3] sends its head and first bytes before there is an event', async () => {
    const stage = await setStage()
    const client = await stage.connect({ after: 0 })
    expect(client.response.statusCode).toBe(200)
    expect(client.response.headers).toMatchObject({
      'content-type': 'text/plain',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-wire': 'test',
    })
    await client.has('hello\n\n')
  })

  test('[LOG-5] sends the stored events, then new ones, then ends', async () => {
    const stage = await setStage()
    stage.runWriter.start()
    await stage.runWriter.flush()
    const client = await stage.connect()
    await client.has('event: run.started')
    stage.runWriter.text('one')
    await stage.runWriter.flush()
    await client.has('"one"')
    stage.runWriter.complete()
    await stage.runWriter.flush()
    expect(await client.ended()).toBe(true)
    expect(client.text).toBe(`hello\n\n${stage.runWriter.records.join('')}`)
    expect(stage.streams.size).toBe(0)
  })

  test('[SUB-3] sends a heartbeat after each silence, and only then', async () => {
    const stage = await setStage()
    const client = await stage.connect({ after: 0 })
    await client.has('hello\n\n')
    const { clock, runWriter } = stage
    const written = (): number => stage.written()
    const greeting = written()
    await clock.pass(HEARTBEAT_MS - 1)
    expect(written()).toBe(greeting)
    await clock.pass(1)
    await client.has('beat')
    const firstBeat = written()
    await clock.pass(HEARTBEAT_MS - TICK_MS)
    expect(written()).toBe(firstBeat)

    runWriter.start()
    await runWriter.flush()
    await client.has('event: run.started')
    await clock.pass(TICK_MS) // from here on the stream is silent again
    const event = written()
    await clock.pass(HEARTBEAT_MS - 1)
    expect(written()).toBe(event)
    await clock.pass(1)
    await client.has(`${runWriter.records[1]}beat\n\n`)
    expect(client.text).toBe(`hello\n\nbeat\n\n${runWriter.records[1]}beat\n\n`)
  })

  test('[SUB-3] reports why it is closed, and where to resume', async () => {
    const stage = await setStage()
    stage.runWriter.start()
    await stage.runWriter.flush()
    const client = await stage.connect()
    await client.has('event: run.started')
    stage.streams.closeAll('the tide is out')
    expect(stage.registry.size).toBe(0)
    expect(await client.ended()).toBe(true)
    expect(client.text.endsWith('\n\nnotice {"kind":"closing","reason":"the tide is out","cursor":1}\n\n')).toBe(true)
    expect(stage.streams.size).toBe(0)
  })

  test('[SUB-3] a stream that is opened after closeAll is closed too', async () => {
    const stage = await setStage()
    stage.streams.closeAll('the tide is out')
    const client = await stage.connect({ after: 0 })
    expect(await client.ended()).toBe(true)
    expect(client.text).toContain('notice {"kind":"closing","reason":"the tide is out","cursor":0}')
  })

  test('[SUB-3] reports that its log was removed', async () => {
    const stage = await setStage()
    const client = await stage.connect()
    client.response.pause()
    await stage.fill()
    stage.runWriter.complete()
    await stage.runWriter.flush()
    await stage.store.remove('run-1')
    client.response.resume()
    expect(await client.ended()).toBe(true)
    expect(client.text.slice(-200)).toContain('notice {"kind":"failed","error":')
  })

  test('a stream that cannot be opened throws and sends no response head', async () => {
    const stage = await setStage({ maxSubscribersPerRun: 1 })
    const first = await stage.connect({ after: 0 })
    const second = await stage.connect({ after: 0 })
    expect(second.response.statusCode).toBe(418)
    expect(stage.failures).toEqual([expect.objectContaining({ code: 'rate_limited' })])
    expect(stage.failures[0]).toBeInstanceOf(HoldfastError)
    expect(first.response.statusCode).toBe(200)
    expect(stage.streams.size).toBe(1)
  })

  test('is released when its client disconnects', async () => {
    const stage = await setStage()
    const clients = [await stage.connect({ after: 0 }), await stage.connect({ after: 0 })]
    expect([stage.streams.size, stage.registry.size]).toEqual([2, 2])
    clients[0]!.response.destroy()
    await until('one of two streams is left', () => stage.streams.size === 1 && stage.registry.size === 1)
  })
})

describe('HTTP stream of a client that does not read', () => {
  test('[SUB-1] uses no more memory than one read of the log, however much is written', async () => {
    const stage = await setStage({ maxReadBytes: 100_000 })
    const client = await stage.connect()
    client.response.pause()
    stage.runWriter.start()
    let largest = 0
    for (let written = 0; written < 300; written++) {
      stage.runWriter.text('x'.repeat(100_000))
      await stage.runWriter.flush()
      largest = Math.max(largest, stage.responses[0]!.writableLength)
    }
    expect(stage.responses[0]!.writableNeedDrain).toBe(true)
    expect(largest).toBeLessThan(400_000)
    stage.runWriter.complete()
    await stage.runWriter.flush()
    client.response.resume()
    expect(await client.ended()).toBe(true)
    expect(client.text).toBe(`hello\n\n${stage.runWriter.records.join('')}`)
  })

  test('[SUB-1] is closed after the write timeout; one of a client that reads is not', async () => {
    const stage = await setStage({ subscriberStallTimeoutMs: STALL_MS })
    const stalled = await stage.connect()
    stalled.response.pause()
    await stage.fill()
    const reading = await stage.connect({ after: 4 })
    await stage.cut()
    await until('the stalled stream is forgotten', () => stage.streams.size === 1)
    stage.runWriter.complete()
    await stage.runWriter.flush()
    expect(await reading.ended()).toBe(true)
  })

  test('[SUB-1] is not closed while the client reads, however slowly', async () => {
    const stage = await setStage({ subscriberStallTimeoutMs: STALL_MS })
    const client = await stage.connect()
    client.response.pause()
    await stage.fill()
    for (let step = 0; step < 5; step++) {
      const before = stage.unsent()
      while (stage.unsent() === before) await client.take(500_000)
      await stage.clock.pass(STALL_MS - TICK_MS)
      expect(stage.responses[0]!.destroyed, `after ${step + 1} steps`).toBe(false)
    }
    await stage.cut()
  })

  test('[SUB-1] is closed also when the log has ended and only its last bytes are left', async () => {
    const stage = await setStage({ subscriberStallTimeoutMs: STALL_MS })
    const client = await stage.connect()
    await client.has('run.created')
    client.response.pause()
    stage.runWriter.start()
    stage.runWriter.text('x'.repeat(15_000_000))
    stage.runWriter.complete()
    await stage.runWriter.flush()
    await stage.full()
    await stage.cut()
    expect(stage.responses[0]!.writableFinished).toBe(false)
    client.response.resume()
    expect(await client.ended()).toBe(false)
  })

  test('[SUB-1] is closed also when the log has ended and no write was ever refused', async () => {
    const stage = await setStage({ subscriberStallTimeoutMs: STALL_MS })
    const client = await stage.connect()
    await client.has('run.created')
    client.response.pause()
    stage.runWriter.start()
    // Small events, each taken by the operating system, until the buffers of the sockets have no room for a whole one.
    await until('an event is stuck on its way', async () => {
      stage.runWriter.text('x'.repeat(20_000))
      await stage.runWriter.flush()
      await settle()
      return stage.unsent() > 0
    })
    expect(stage.responses[0]!.writableNeedDrain).toBe(false)
    stage.runWriter.complete()
    await stage.runWriter.flush()
    await stage.cut()
    expect(stage.responses[0]!.writableFinished).toBe(false)
  })

  test('[SUB-1] gets no heartbeats, which it would not read either', async () => {
    const stage = await setStage()
    const client = await stage.connect()
    client.response.pause()
    await stage.fill()
    const before = stage.responses[0]!.writableLength
    await stage.clock.pass(HEARTBEAT_MS * 3)
    expect(stage.responses[0]!.writableLength).toBe(before)
    stage.runWriter.complete()
    await stage.runWriter.flush()
    client.response.resume()
    expect(await client.ended()).toBe(true)
    expect(client.text).not.toContain('beat')
  })
})

interface Stage {
  readonly clock: ManualClock
  readonly store: Store
  readonly runWriter: RunWriter
  readonly streams: Streams
  readonly registry: SubscriptionRegistry
  /** Of the connections that were opened, in order. */
  readonly responses: readonly ServerResponse[]
  /** Errors that were thrown before a stream started. */
  readonly failures: readonly unknown[]
  connect(options?: { readonly after?: number }): Promise<Client>
  /** Writes more than the sockets between a client that does not read and its server can hold, in a few large events. */
  fill(): Promise<void>
  /** Waits until the sockets below the first response take no more. */
  full(): Promise<void>
  /** Lets time pass until the first response is cut. The operating system may still take a few bytes, which starts the time anew. */
  cut(): Promise<void>
  /** Bytes that were written to the first response's socket, whether or not they have left. */
  written(): number
  /** Bytes of the first response that the operating system has not taken. */
  unsent(): number
}

/** A log that a test writes, and a server that streams it. */
async function setStage(limits: Partial<Limits> = {}): Promise<Stage> {
  const clock = new ManualClock()
  const store = createMemoryStore({ clock })
  const bounds = {
    ...defaultLimits,
    heartbeatIntervalMs: HEARTBEAT_MS,
    subscriberStallTimeoutMs: 60_000,
    pollIntervalMs: 1000,
    ...limits,
  }
  const created = newRun('run-1', clock.iso(), { claim: { worker: 'worker', ttlMs: 1e9 } })
  const { stored } = await store.create(created)
  const runWriter = new RunWriter(store, clock, stored, [created.record])
  const registry = new SubscriptionRegistry(store, bounds)
  const streams = new Streams(bounds, clock)
  const responses: ServerResponse[] = []
  const failures: unknown[] = []
  const server = createServer((request, response) => {
    responses.push(response)
    const after = Number(request.url!.slice(1))
    streams
      .serve(response, format, async (stream) => registry.open('run-1', after, stream))
      .catch((cause: unknown) => {
        failures.push(cause)
        response.writeHead(418).end()
      })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    streams.closeAll('the test is over')
    registry.close()
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
    await store.close()
  })
  const { port } = server.address() as AddressInfo
  const unsent = (): number => {
    // oxlint-disable-next-line no-underscore-dangle -- Node has no public API for it
    const handle = (responses[0]!.socket as { _handle?: { writeQueueSize?: number } | null } | null)?._handle
    return responses[0]!.writableLength + (handle?.writeQueueSize ?? 0)
  }
  const full = async (): Promise<void> => {
    await until('the response waits for its client', () => unsent() > 1_000_000)
    for (let before = -1; before !== unsent(); await settle()) before = unsent()
  }
  return {
    clock,
    store,
    runWriter,
    streams,
    registry,
    responses,
    failures,
    connect: ({ after = -1 } = {}) => connect(`http://127.0.0.1:${port}/${after}`),
    async fill() {
      runWriter.start()
      for (let count = 0; count < 3; count++) runWriter.text('x'.repeat(15_000_000))
      await runWriter.flush()
      await full()
    },
    full,
    cut: () =>
      until('the first response is cut', async () => {
        await clock.pass(bounds.subscriberStallTimeoutMs + TICK_MS)
        return responses[0]!.destroyed
      }).then(() => {}),
    written: () => responses[0]!.socket!.bytesWritten,
    unsent,
  }
}

class Client {
  readonly response: IncomingMessage
  readonly #chunks: Buffer[] = []
  #taken = 0

  constructor(response: IncomingMessage) {
    this.response = response
    response.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.#taken += chunk.length
    })
    response.on('error', () => {}) // `close` follows
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString()
  }

  async has(text: string): Promise<void> {
    await until(`the client has ${JSON.stringify(text.slice(0, 100))}`, () => this.text.includes(text))
  }

  /** Whether the server ended the response properly. */
  async ended(): Promise<boolean> {
    await until('the response is closed', () => this.response.closed)
    return this.response.complete
  }

  /** Reads about `bytes` bytes, then pauses. */
  async take(bytes: number): Promise<void> {
    const enough = this.#taken + bytes
    this.response.resume()
    while (this.#taken < enough) await new Promise((resolve) => this.response.once('data', resolve))
    this.response.pause()
  }
}

function connect(url: string): Promise<Client> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => resolve(new Client(response))).on('error', reject)
  })
}
