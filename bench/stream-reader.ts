/** Counts the events of one stream without parsing it, and detects missing, repeated and out-of-order ones. */
import { MARK, micros, SEQUENCE_DIGITS, STAMP_DIGITS, STAMP_MARK } from './agent.ts'

/** Maximum marker size. Only reads split an event, never the HTTP framing. */
export const MARKER_BYTES = 2 + SEQUENCE_DIGITS + STAMP_DIGITS

export class StreamReader {
  received = 0
  lost = 0
  repeated = 0
  bytes = 0
  #expected = 0
  #awaited = Infinity
  #reached: () => void = () => {}
  /** End of the last read, which may contain a partial marker. */
  #rest: Buffer | undefined
  readonly #latencies: number[]

  /** `latencies` collects microseconds. */
  constructor(latencies: number[]) {
    this.#latencies = latencies
  }

  /** Resolves when this many events were read. */
  reached(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited = count
      this.#reached = resolve
      if (this.received >= count) resolve()
    })
  }

  /** Reads from a buffer that the caller reuses. */
  take(buffer: Buffer, length: number): void {
    this.bytes += length
    if (this.#rest === undefined) return this.#scan(buffer, length)
    const joined = Buffer.concat([this.#rest, buffer.subarray(0, length)])
    this.#rest = undefined
    this.#scan(joined, joined.length)
  }

  /** The stream ended; `events` is the expected count. */
  end(events: number): void {
    this.lost += events - this.#expected
  }

  #scan(buffer: Buffer, length: number): void {
    let now = 0
    for (let at = buffer.indexOf(MARK); at >= 0 && at < length; at = buffer.indexOf(MARK, at + MARKER_BYTES)) {
      if (at + MARKER_BYTES > length) {
        this.#rest = Buffer.from(buffer.subarray(at, length))
        return
      }
      this.#count(digits(buffer, at + 1, SEQUENCE_DIGITS))
      if (buffer[at + 1 + SEQUENCE_DIGITS] !== STAMP_MARK) continue
      now ||= micros()
      this.#latencies.push(now - digits(buffer, at + 2 + SEQUENCE_DIGITS, STAMP_DIGITS))
    }
  }

  #count(sequence: number): void {
    this.received++
    if (this.received === this.#awaited) this.#reached()
    if (sequence < this.#expected) {
      this.repeated++
      return
    }
    this.lost += sequence - this.#expected
    this.#expected = sequence + 1
  }
}

function digits(buffer: Buffer, from: number, count: number): number {
  let value = 0
  for (let at = from; at < from + count; at++) value = value * 10 + buffer[at]! - 48
  return value
}
