/** Incremental parser for server-sent events, as in the HTML standard, with a size limit. */

export interface ParsedEvent {
  /** Default: `message`. */
  readonly event: string
  readonly data: string
  /** Last id seen, possibly in an earlier frame; undefined before the first. */
  readonly id: string | undefined
}

/** Receives what an `EventParser` finds. */
export interface ParseListener {
  event(event: ParsedEvent): void
  /** Called for comments, such as heartbeats. */
  comment?(text: string): void
  retry?(milliseconds: number): void
}

/** A frame or line exceeds the size limit. The stream is unusable from there on. */
export class FrameTooLargeError extends Error {
  override readonly name = 'FrameTooLargeError'
}

/** Incremental parser of server-sent events, as in the HTML standard, with a size limit. */
export class EventParser {
  readonly #listener: ParseListener
  readonly #maxChars: number
  #buffer = ''
  #started = false
  #event = ''
  #data: string[] = []
  #dataChars = 0
  #id: string | undefined
  #afterCarriageReturn = false

  constructor(listener: ParseListener, maxChars: number = 16 * 1024 * 1024) {
    this.#listener = listener
    this.#maxChars = maxChars
  }

  push(chunk: string): void {
    if (chunk === '') return
    let text = chunk
    if (!this.#started && text.startsWith('\uFEFF')) text = text.slice(1)
    this.#started = true
    if (this.#afterCarriageReturn && text.startsWith('\n')) text = text.slice(1)
    this.#afterCarriageReturn = chunk.endsWith('\r')
    // Search only the new text, so that a long line in small chunks does not take quadratic time.
    const [end, ...lines] = text.split(/\r\n|\n|\r/)
    this.#buffer += end!
    this.#checkLength(this.#buffer)
    for (const line of lines) {
      const whole = this.#buffer
      this.#buffer = line
      this.#line(whole)
    }
    this.#checkLength(this.#buffer)
  }

  #checkLength(line: string): void {
    if (line.length <= this.#maxChars) return
    throw new FrameTooLargeError(`a line of the event stream is longer than ${this.#maxChars} characters`)
  }

  #line(line: string): void {
    this.#checkLength(line)
    if (line === '') return this.#dispatch()
    if (line.startsWith(':')) return this.#listener.comment?.(line.slice(1))
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    switch (name) {
      case 'event':
        this.#event = value
        return
      case 'data':
        return this.#addData(value)
      case 'id':
        if (!value.includes('\0')) this.#id = value
        return
      case 'retry':
        if (/^\d+$/.test(value)) this.#listener.retry?.(Number(value))
        return
      default:
    }
  }

  #addData(value: string): void {
    this.#dataChars += value.length + 1 // its line break
    if (this.#dataChars > this.#maxChars)
      throw new FrameTooLargeError(`an event is longer than ${this.#maxChars} characters`)
    this.#data.push(value)
  }

  #dispatch(): void {
    const data = this.#data
    const event = this.#event
    this.#data = []
    this.#dataChars = 0
    this.#event = ''
    if (data.length > 0)
      this.#listener.event({ event: event === '' ? 'message' : event, data: data.join('\n'), id: this.#id })
  }
}
