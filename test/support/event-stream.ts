/** A subscriber that keeps every byte it was sent, and may be cut anywhere. */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

/** `closed`: the server ended the answer properly. `cut`: we did. `broken`: the connection died. */
export type StreamEnd = 'closed' | 'cut' | 'broken'

export interface EventStreamOptions {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Cuts the connection after this many events of the log. */
  readonly cutAfter?: number
  /** Takes nothing off the wire until `read` is called. */
  readonly stalled?: boolean
  /** Rests after every piece that it takes. */
  readonly restMs?: number
}

export class EventStream {
  /** Whole frames, byte by byte, those that are not in the log included. */
  readonly frames: Buffer[] = []
  readonly ended: Promise<StreamEnd>
  /** Resolves when the head of the answer is there, with undefined if it never came. */
  readonly answered: Promise<IncomingMessage | undefined>
  readonly #request: ClientRequest
  readonly #cutAfter: number
  readonly #restMs: number
  #rest: Buffer = Buffer.alloc(0)
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

  /** Events of the log that came whole. */
  get events(): number {
    return this.#events
  }

  /** The part of the log that came: whole records, and the beginning of one that did not come whole. */
  get log(): Buffer {
    return Buffer.concat([...this.frames, this.#rest].filter(isOfLog))
  }

  /** What came besides the log: hints to the client, heartbeats, notices. */
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
    if (this.#wasCut) return
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    for (let end = this.#rest.indexOf('\n\n'); end >= 0; end = this.#rest.indexOf('\n\n')) {
      const frame = this.#rest.subarray(0, end + 2)
      this.#rest = this.#rest.subarray(end + 2)
      this.frames.push(frame)
      if (isOfLog(frame) && ++this.#events >= this.#cutAfter) {
        this.#rest = Buffer.alloc(0)
        return this.cut()
      }
    }
  }
}

function isOfLog(frame: Buffer): boolean {
  return frame.subarray(0, 4).equals(ID)
}

const ID = Buffer.from('id: ')
