/** The load client: a separate process with raw sockets, to use little CPU next to the server. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Work } from './agent.ts'
import { answer, ready } from './ipc-child.ts'
import { followRequest, positionBefore, startBody, startRequest } from './follow-request.ts'
import type { ClientCommand, Delivered, Load, Resume } from './messages.ts'
import { StreamReader } from './stream-reader.ts'

/** Shared by all sockets, because each read is processed before the next. */
const READ_BYTES = 256 * 1024
const shared = Buffer.allocUnsafeSlow(READ_BYTES)
/** Concurrent connects; more would overflow the server's backlog. */
const CONNECTING_MAX = 100

class Subscriber {
  readonly reader: StreamReader
  readonly socket: Socket
  /** Resolves when the stream has started. */
  readonly begun: Promise<void>
  readonly ended: Promise<void>

  constructor(port: number, request: string, latencies: number[]) {
    const reader = new StreamReader(latencies)
    const begun = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const callback = (length: number, buffer: Uint8Array): boolean => {
      if (reader.bytes === 0 && !isOk(buffer)) begun.reject(new Error(head(buffer, length)))
      reader.take(buffer as Buffer, length)
      begun.resolve()
      return true
    }
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: shared, callback } })
    this.socket.on('error', begun.reject)
    this.socket.on('close', () => ended.resolve())
    this.reader = reader
    this.begun = begun.promise
    this.ended = ended.promise
    if (request !== '') this.socket.write(request)
  }
}

class Client {
  #subscribers: Subscriber[] = []
  #latencies: number[] = []
  #events = 0
  #cpuAtOpen = 0

  /** Adds to the open streams. */
  async open(port: number, load: Load, followPort = port): Promise<readonly string[]> {
    this.#events = load.work.events
    const runs = load.subscribersPerRun === 1 && followPort === port ? [] : await startApart(port, load)
    const subscribers = Array.from({ length: load.subscribersPerRun })
    const requests =
      runs.length === 0
        ? startRequests(load)
        : runs.flatMap((run) => subscribers.map(() => followRequest(run, load.protocol ?? 'native')))
    for (let at = 0; at < requests.length; at += CONNECTING_MAX) {
      const some = requests
        .slice(at, at + CONNECTING_MAX)
        .map((request) => new Subscriber(followPort, request, this.#latencies))
      this.#subscribers.push(...some)
      await Promise.all(some.map(({ begun }) => begun))
    }
    this.#cpuAtOpen = cpuMicros()
    return runs
  }

  async finish(timeoutMs: number): Promise<Delivered> {
    const timer = setTimeout(() => this.#subscribers.forEach(({ socket }) => socket.destroy()), timeoutMs)
    await Promise.all(this.#subscribers.map(({ ended }) => ended))
    clearTimeout(timer)
    const readers = this.#subscribers.map(({ reader }) => reader)
    for (const reader of readers) reader.end(this.#events)
    const sorted = Float64Array.from(this.#latencies).toSorted()
    this.#subscribers = []
    this.#latencies = []
    const total = (pick: (reader: StreamReader) => number): number =>
      readers.reduce((sum, reader) => sum + pick(reader), 0)
    return {
      deliveries: total(({ received }) => received),
      lost: total(({ lost }) => lost),
      repeated: total(({ repeated }) => repeated),
      cpuMicros: cpuMicros() - this.#cpuAtOpen,
      p50Ms: (sorted[Math.floor(sorted.length * 0.5)] ?? Number.NaN) / 1000,
      p99Ms: (sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN) / 1000,
    }
  }

  /** Milliseconds from the request to the end of the response. */
  async catchUp(port: number, run: string, events: number): Promise<number> {
    const subscriber = new Subscriber(port, '', [])
    await once(subscriber.socket, 'connect')
    const start = performance.now()
    subscriber.socket.write(followRequest(run, 'native'))
    await subscriber.ended
    const ms = performance.now() - start
    const { reader } = subscriber
    reader.end(events)
    if (reader.lost + reader.repeated > 0)
      throw new Error(`${reader.lost} events lost and ${reader.repeated} repeated in catching up`)
    return ms
  }

  async resume(port: number, { run, protocol, from, to, subscribers }: Resume): Promise<void> {
    const request = followRequest(run, protocol, from === 0 ? undefined : positionBefore(from, protocol))
    const count = to - from
    const resume = async (): Promise<void> => {
      const { socket, reader, begun, ended } = new Subscriber(port, request, [])
      await begun
      await Promise.race([reader.reached(count), ended])
      socket.destroy()
      await ended
      if (reader.received !== count) throw new Error(`${protocol}: ${reader.received} of ${count} texts`)
    }
    await Promise.all(Array.from({ length: subscribers }, resume))
  }

  close(): void {
    for (const { socket } of this.#subscribers) socket.destroy()
    this.#subscribers = []
  }
}

async function startApart(port: number, load: Load): Promise<string[]> {
  const runs: string[] = []
  for (let run = 0; run < load.runs; run++) {
    const response = await fetch(`http://127.0.0.1:${port}/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', connection: 'close' },
      body: startBody(phased(load.work, run, load.runs), load.keep ?? false),
    })
    runs.push(((await response.json()) as { id: string }).id)
  }
  return runs
}

function startRequests(load: Load): string[] {
  return Array.from({ length: load.runs }, (_, run) => {
    const work = phased(load.work, run, load.runs)
    if (load.startProtocol !== undefined) return startRequest(work, load.startProtocol)
    return startRequest(work, 'native', startBody(work, load.keep ?? false))
  })
}

/** Spreads paced runs evenly over their interval. */
function phased(work: Work, run: number, runs: number): Work {
  return { ...work, phaseMs: Math.floor((work.intervalMs * run) / runs) }
}

function isOk(buffer: Uint8Array): boolean {
  return Buffer.from(buffer.buffer, buffer.byteOffset, 12).toString('latin1') === 'HTTP/1.1 200'
}

function head(buffer: Uint8Array, length: number): string {
  return Buffer.from(buffer.subarray(0, Math.min(length, 500))).toString()
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

const client = new Client()
answer((command: ClientCommand) => {
  switch (command.kind) {
    case 'open':
      return client.open(command.port, command.load, command.followPort)
    case 'finish':
      return client.finish(command.timeoutMs)
    case 'catch up':
      return client.catchUp(command.port, command.run, command.events)
    case 'resume':
      return client.resume(command.port, command.resume)
    case 'close':
      return client.close()
  }
})
ready()
