/** A subscriber that records every byte and can disconnect anywhere. */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

/** `closed`: the server ended the response cleanly. `cut`: we disconnected. `broken`: the connection died. */
export type StreamEnd = 'closed' | 'cut' | 'broken'

export interface EventStreamOptions {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Disconnects after this many log events. */
  readonly cutAfter?: number
  /** Reads nothing until `read` is called. */
  readonly stalled?: boolean
  /** Pause after each chunk. */
  readonly restMs?: number
}

export class EventStream {
  /** Complete frames, including those that are not in the log. */
  readonly frames: Buffer[] = []
  readonly ended: Promise<StreamEnd>
  /** Resolves with the response headers; undefined if they never arrive. */
  readonly answered: Promise<IncomingMessage | undefined>
  readonly #request: ClientRequest
  readonly #cutAfter: number
  readonly #restMs: number
  /** Of a frame that has not ended yet. They become one buffer at its end: joining them at every chunk costs the square of a large frame. */
  #partial: Buffer[] = []
  #events = 0
  #wasCut = false

  constructor(url: string, options: EventStreamOptions = {}) {
    const { method = 'GET', headers = {}, body, cutAfter = Infinity, stalled = false, restMs = 0 } = options
    this.#cutAfter = cutAfter
    this.#restMs = restMs
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    this.#request = request(url, {
      method,
      agent: false,
      headers: { accept: 'text/event-stream', ...json, ...headers },
    })
    const ended = Promise.withResolvers<StreamEnd>()
    const answered = Promise.withResolvers<IncomingMessage | undefined>()
    this.ended = ended.promise
    this.answered = answered.promise
    this.#request.on('response', (response) => {
      answered.resolve(response)
      if (!stalled) this.#read(response)
      response.on('close', () => ended.resolve(this.#wasCut ? 'cut' : response.complete ? 'closed' : 'broken'))
      response.on('error', () => {}) // `close` follows
    })
    this.#request.on('error', () => {
      answered.resolve(undefined)
      ended.resolve(this.#wasCut ? 'cut' : 'broken')
    })
    this.#request.end(body === undefined ? undefined : JSON.stringify(body))
    if (cutAfter === 0) void this.answered.then(() => this.cut())
  }

  async status(): Promise<number | undefined> {
    return (await this.answered)?.statusCode
  }

  async headers(): Promise<IncomingHttpHeaders> {
    return (await this.answered)?.headers ?? {}
  }

  /** Number of complete log events. */
  get events(): number {
    return this.#events
  }

  /** Received log bytes, including a partial last record. */
  get log(): Buffer {
    return Buffer.concat([...this.frames, Buffer.concat(this.#partial)].filter(isOfLog))
  }

  /** Frames that are not in the log: hints, heartbeats, notices. */
  get asides(): string[] {
    return this.frames.filter((frame) => !isOfLog(frame)).map(String)
  }

  /** Ends the stall. */
  async read(): Promise<void> {
    const response = await this.answered
    if (response !== undefined) this.#read(response)
  }

  cut(): void {
    this.#wasCut = true
    this.#request.destroy()
  }

  #read(response: IncomingMessage): void {
    response.on('data', (chunk: Buffer) => {
      this.#take(chunk)
      if (this.#restMs === 0) return
      response.pause()
      setTimeout(() => response.resume(), this.#restMs)
    })
  }

  #take(chunk: Buffer): void {
    let bytes = chunk
    while (!this.#wasCut) {
      const end = frameEnd(this.#partial.at(-1), bytes)
      if (end === undefined) {
        if (bytes.length > 0) this.#partial.push(bytes)
        return
      }
      const last = bytes.subarray(0, end)
      const frame = this.#partial.length === 0 ? last : Buffer.concat([...this.#partial, last])
      this.#partial = []
      bytes = bytes.subarray(end)
      this.frames.push(frame)
      if (isOfLog(frame) && ++this.#events >= this.#cutAfter) this.cut()
    }
  }
}

/** End of the frame that continues or starts with these bytes. */
function frameEnd(before: Buffer | undefined, bytes: Buffer): number | undefined {
  if (before?.at(-1) === NEWLINE && bytes[0] === NEWLINE) return 1
  const end = bytes.indexOf('\n\n')
  return end < 0 ? undefined : end + 2
}

const NEWLINE = 10

function isOfLog(frame: Buffer): boolean {
  // Some frames that are not in the log have an id too, and move the client's cursor.
  return frame.subarray(0, 4).equals(ID) && !frame.subarray(0, HEAD_BYTES).includes('\nevent: stream.')
}

const HEAD_BYTES = 64

const ID = Buffer.from('id: ')
