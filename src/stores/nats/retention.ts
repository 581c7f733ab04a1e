/** Retention: a message records the trim or removal, then the messages before it are purged. */
import { isFinished } from '../../core/model/run.ts'
import { keptBytesOf } from './log/head.ts'
import type { Keys } from './state/keys.ts'
import type { Layout } from './layout.ts'
import type { JetStream } from './connection/jetstream.ts'
import { readTail } from './log/reader.ts'
import type { RunMessages } from './log/run-messages.ts'
import { notFinished } from '../shared/refusals.ts'

export interface NatsRetentionOptions {
  readonly jetstream: JetStream
  readonly layout: Layout
  readonly messages: RunMessages
  readonly keys: Keys
}

/** A finished run that keeps at most this much is rewritten as one message, and its other messages are purged. */
const REWRITTEN_BYTES_MAX = 64 * 1024

export class NatsRetention {
  readonly #options: NatsRetentionOptions

  constructor(options: NatsRetentionOptions) {
    this.#options = options
  }

  async trim(id: string, before: number): Promise<void> {
    const { jetstream, layout, messages } = this.#options
    const { written, current } = await messages.change(id, async (untrimmed) => {
      if (untrimmed === undefined) return undefined
      const { head, description } = untrimmed
      const first = Math.min(before, head.next - 1)
      if (first <= head.first) return undefined
      const isOver = isFinished(head.status)
      const kept = isOver ? await readTail(messages, untrimmed, first, REWRITTEN_BYTES_MAX) : undefined
      if (kept !== undefined) return { change: { first }, description, records: kept, rewrite: true }
      // An estimate: how the bytes are spread over the messages is unknown without reading them.
      const share = (head.next - first) / (head.next - head.first)
      return { change: { first }, description, earlierBytes: Math.round(keptBytesOf(head) * share) }
    })
    if (!written || current === undefined) return
    const { stream, subject } = layout.run(id)
    const isAnew = current.head.ordinal === 1
    const [earliest] = isAnew ? [] : await messages.positions(id, current, current.head.first)
    await jetstream.purge(stream, subject, earliest?.seq ?? current.seq)
    if (isAnew && current.head.parts === undefined) await this.#purgeParts(id)
  }

  /** The tombstone stays for a while, for the other nodes. */
  async remove(id: string): Promise<boolean> {
    const { jetstream, layout, messages, keys } = this.#options
    const { written, current } = await messages.change(id, (before) => {
      if (before === undefined) return undefined
      const { status } = before.head
      if (!isFinished(status)) throw notFinished(id, status)
      return { change: { tombstone: 'removed' } }
    })
    if (!written || current === undefined) return written
    const { stream, subject } = layout.run(id)
    await jetstream.purge(stream, subject, current.seq)
    await this.#purgeParts(id)
    const { run, idempotency } = current.description
    if (idempotency !== undefined) await keys.free(run.owner, idempotency.key, id)
    return true
  }

  async #purgeParts(id: string): Promise<void> {
    const { jetstream, layout } = this.#options
    const { stream, subject } = layout.parts(id)
    await jetstream.purge(stream, subject)
  }
}
