/**
 * The baselines: the same agent behind plain `node:http`, with the same frames and no persistence. `each` writes every event
 * separately (A); `joined` batches the events of one tick of the event loop (B).
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isoTimer, systemIds } from '../../src/core/ports/clock.ts'
import { Gate, produce, type Work } from '../agent.ts'
import { takeCommands } from './control.ts'

type Mode = 'each' | 'joined'

const mode = process.argv[2] as Mode
const gate = new Gate()
const ids = systemIds()
const iso = isoTimer()
const runs = new Map<string, PlainRun>()

/** Unsent bytes of a subscriber above which the agent waits (backpressure). */
const UNSENT_BYTES_MAX = 1024 * 1024
/** Chunk size for replays. */
const PIECE_BYTES = 64 * 1024

class PlainRun {
  readonly id: string = ids.run()
  readonly #subscribers = new Set<ServerResponse>()
  readonly #work: Work
  readonly #keep: boolean
  readonly #kept: Buffer[] = []
  #waiting = ''
  #scheduled = false
  #held: Promise<void> | undefined
  #ended = false

  constructor(work: Work, keep: boolean) {
    this.#work = work
    this.#keep = keep
  }

  subscribe(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    response.write('retry: 1000\n\n')
    if (this.#ended) return this.#replay(response)
    this.#subscribers.add(response)
    response.on('close', () => this.#subscribers.delete(response))
  }

  async drive(): Promise<void> {
    let index = 0
    for await (const text of produce(this.#work, gate)) {
      const slow = this.#take(frame(this.id, index++, 'text.delta', `{"text":${JSON.stringify(text)}}`))
      if (slow !== undefined) await slow
    }
    this.#flush()
    void this.#write(frame(this.id, index, 'run.completed', '{}'))
    this.#ended = true
    for (const response of this.#subscribers) response.end()
  }

  #take(text: string): Promise<void> | undefined {
    if (mode === 'each') return this.#write(text)
    this.#waiting += text
    if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(() => this.#flush())
    }
    return this.#held
  }

  #flush(): void {
    this.#scheduled = false
    if (this.#waiting === '') return
    const text = this.#waiting
    this.#waiting = ''
    this.#held = this.#write(text)?.then(() => (this.#held = undefined))
  }

  #write(text: string): Promise<void> | undefined {
    // Encode once if it is written several times.
    const chunk = mode === 'joined' || this.#keep || this.#subscribers.size > 1 ? Buffer.from(text) : text
    if (this.#keep) this.#remember(chunk as Buffer)
    let room = true
    for (const response of this.#subscribers) if (!response.write(chunk)) room = false
    return room ? undefined : this.#slow()
  }

  /** Resolves when every subscriber has room; undefined if all have. */
  #slow(): Promise<void> | undefined {
    const waits: Promise<unknown>[] = []
    for (const response of this.#subscribers) {
      if (!response.writableNeedDrain || response.writableLength < UNSENT_BYTES_MAX) continue
      waits.push(new Promise((resolve) => response.once('drain', resolve).once('close', resolve)))
    }
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => {})
  }

  /** In chunks of complete frames. */
  #remember(chunk: Buffer): void {
    const last = this.#kept.at(-1)
    if (last === undefined || last.length + chunk.length > PIECE_BYTES) this.#kept.push(chunk)
    else this.#kept[this.#kept.length - 1] = Buffer.concat([last, chunk])
  }

  #replay(response: ServerResponse): void {
    for (const piece of this.#kept) response.write(piece)
    response.end()
  }
}

function frame(run: string, index: number, type: string, data: string): string {
  const time = iso(Date.now())
  return `id: ${index}\nevent: ${type}\ndata: {"run":"${run}","index":${index},"time":"${time}","type":"${type}","data":${data}}\n\n`
}

async function start(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const { input, metadata } = JSON.parse(Buffer.concat(chunks).toString()) as {
    input: Work
    metadata: { keep: boolean }
  }
  const streams = request.headers.accept === 'text/event-stream'
  const run = new PlainRun(input, metadata.keep)
  if (streams) {
    run.subscribe(response)
  } else {
    runs.set(run.id, run)
    response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ id: run.id }))
  }
  void run.drive()
}

const http = createServer((request, response) => {
  if (request.method === 'POST') void start(request, response)
  else runs.get(request.url!.split('/')[2]!)!.subscribe(response)
})
http.listen(0, '127.0.0.1', () => takeCommands((http.address() as AddressInfo).port, gate, () => {}))
