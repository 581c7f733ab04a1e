/**
 * Reads run messages by sequence, from any replica. Each is verified before it is cached or returned (STO-2): subject, run,
 * position, writer, length, and every record in it. If even the leader returns a wrong message, the run is quarantined.
 */
import { detailOf } from '../../../core/model/errors.ts'
import { faultIn } from '../../../core/delivery/read-log.ts'
import type { Alarms } from '../following/alarms.ts'
import type { MessagePosition } from './message-index.ts'
import { decodeHead, type Head } from './head.ts'
import type { Layout } from '../layout.ts'
import type { JetStream } from '../connection/jetstream.ts'
import { type Message, Mismatch, onSubject } from '../connection/message.ts'
import { LruCache } from './lru-cache.ts'

/** A message with its content, whether inline or in parts. */
export interface FullMessage {
  readonly head: Head
  readonly content: Uint8Array
}

/** What is known of a message before it is read. */
export interface ExpectedMessage extends Partial<Pick<MessagePosition, 'ordinal' | 'from' | 'next'>> {
  /** The run's epoch when last seen: no earlier message has a higher one. */
  readonly maxEpoch?: number
  /** The message starts with the run's description. */
  readonly isDescription?: boolean
}

export interface VerifiedReadsOptions {
  readonly jetstream: JetStream
  readonly layout: Layout
  readonly alarms: Alarms
}

const CONTENTS_BYTES_MAX = 32 * 1024 * 1024
/** Approximate overhead of an entry besides its content. */
const ENTRY_BYTES = 1024

export class VerifiedReads {
  readonly #options: VerifiedReadsOptions
  readonly #cache = new LruCache<FullMessage>(CONTENTS_BYTES_MAX, ({ content }) => content.length + ENTRY_BYTES)

  constructor(options: VerifiedReadsOptions) {
    this.#options = options
  }

  forgetAll(): void {
    this.#cache.clear()
  }

  /** The head of a message; undefined if it was removed. */
  async head(id: string, { seq, ...expected }: MessagePosition): Promise<Head | undefined> {
    const { jetstream, layout } = this.#options
    const { stream, subject } = layout.run(id)
    return this.#guarded(id, seq, () =>
      jetstream.at(stream, seq, (message) => readHead(onSubject(subject)(message), id, expected)),
    )
  }

  /** The whole message; undefined if it was removed. Cached, because many subscribers read the same. */
  async whole(id: string, seq: number, expected: ExpectedMessage, given?: Message): Promise<FullMessage | undefined> {
    const key = `${id} ${seq}`
    const known = this.#cache.get(key)
    if (known !== undefined && headFault(known.head, id, expected) === undefined) return known
    const found = await this.#guarded(id, seq, () => this.#load(id, seq, expected, given))
    if (found === undefined) return undefined
    this.#options.alarms.cleared(id, seq)
    this.#cache.set(key, found)
    return found
  }

  /** The run's last message, as its leader returned it. */
  last(id: string, message: Message): Promise<Head> {
    return this.#guarded(id, message.seq, async () => readHead(message, id, {}))
  }

  async #load(
    id: string,
    seq: number,
    expected: ExpectedMessage,
    given: Message | undefined,
  ): Promise<FullMessage | undefined> {
    const { jetstream, layout } = this.#options
    const { stream, subject } = layout.run(id)
    const read = (message: Message): FullMessage => {
      const head = readHead(onSubject(subject)(message), id, expected)
      if (head.parts === undefined) checkContent(head, message.data)
      return { head, content: message.data }
    }
    const found = given === undefined ? await jetstream.at(stream, seq, read) : read(given)
    return found?.head.parts === undefined ? found : this.#assemble(found.head, found.head.parts)
  }

  async #assemble(head: Head, { name, count, bytes }: NonNullable<Head['parts']>): Promise<FullMessage | undefined> {
    const { jetstream, layout } = this.#options
    const parts = await Promise.all(
      Array.from({ length: count }, (_, number) => {
        const address = layout.part(head.id, name, number)
        const length = bytes === undefined || number === count - 1 ? undefined : bytes
        return jetstream.only(address, (message) => readPart(onSubject(address.subject)(message), length))
      }),
    )
    const found = parts.flatMap((part) => part ?? [])
    if (found.length < count) return undefined
    const content = Buffer.concat(found)
    checkContent(head, content)
    return { head, content }
  }

  async #guarded<Result>(id: string, seq: number, read: () => Promise<Result>): Promise<Result> {
    const { alarms } = this.#options
    try {
      return await read()
    } catch (cause) {
      throw cause instanceof Mismatch ? alarms.quarantine(id, detailOf(cause), seq) : cause
    }
  }
}

function readHead(message: Message, id: string, expected: ExpectedMessage): Head {
  let head: Head
  try {
    head = decodeHead(message.head)
  } catch {
    throw new Mismatch(`message ${message.seq}, which Holdfast did not write`)
  }
  const fault = headFault(head, id, expected)
  if (fault !== undefined) throw new Mismatch(`message ${message.seq} of ${fault}`)
  return head
}

function headFault(head: Head, id: string, expected: ExpectedMessage): string | undefined {
  const { id: found, ordinal, from, next, epoch } = head
  if (found !== id) return `run ${found}`
  if (expected.ordinal !== undefined && expected.ordinal !== ordinal)
    return `position ${ordinal} for position ${expected.ordinal}`
  if ((expected.from ?? from) !== from || (expected.next ?? next) !== next)
    return `events ${from} to ${next - 1} for ${expected.from} to ${(expected.next ?? 0) - 1}`
  if (expected.isDescription && head.descriptionBytes === 0)
    return `position ${ordinal}, which does not describe the run`
  return epoch > (expected.maxEpoch ?? Infinity) ? `a writer of epoch ${epoch}, after ${expected.maxEpoch}` : undefined
}

function checkContent({ id, from, next, bytes, descriptionBytes }: Head, content: Uint8Array): void {
  if (bytes !== undefined && bytes !== content.length)
    throw new Mismatch(`${content.length} bytes where ${bytes} were written`)
  if (next === from) return
  const records = content.subarray(descriptionBytes)
  const fault = faultIn(id, { first: from, count: next - from, bytes: records, closed: false })
  if (fault !== undefined) throw new Mismatch(`invalid records: ${fault}`)
}

function readPart({ data }: Message, length: number | undefined): Uint8Array {
  if (length === undefined || data.length === length) return data
  throw new Mismatch(`a part of ${data.length} bytes where ${length} were written`)
}
