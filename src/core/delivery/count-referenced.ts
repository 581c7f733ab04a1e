/** Charges a stream for the view state that it references, after each slice. */
import type { HoldfastError } from '../model/errors.ts'
import type { Slice } from '../model/slice.ts'
import type { Sink } from './subscription.ts'
import type { ViewHolder, ViewMemory } from './view-memory.ts'

export interface CountedSink {
  readonly sink: Sink
  readonly release: () => void
}

/** `end`: called when the node needs the memory for others. Streams without a view are not charged. */
export function countReferenced(
  memory: ViewMemory,
  owner: string,
  sink: Sink,
  end: (error: HoldfastError) => void,
): CountedSink {
  if (sink.referenced === undefined) return { sink, release: () => {} }
  const holder = memory.hold(owner, end)
  return { sink: new CountingSink(sink, holder), release: () => holder.release() }
}

class CountingSink implements Sink {
  readonly #sink: Sink
  readonly #holder: ViewHolder

  constructor(sink: Sink, holder: ViewHolder) {
    this.#sink = sink
    this.#holder = holder
  }

  get hasUnsent(): boolean {
    return this.#sink.hasUnsent === true
  }

  write(slice: Slice): boolean {
    const hasRoom = this.#sink.write(slice)
    const { referenced } = this.#sink
    // A closing slice ends the stream anyway.
    if (referenced !== undefined && !slice.closed) this.#holder.update(referenced)
    return hasRoom
  }

  finished(): void {
    this.#sink.finished()
  }

  failed(cause: unknown): void {
    this.#sink.failed(cause)
  }
}
