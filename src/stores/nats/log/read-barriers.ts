/**
 * A newly elected leader may not have applied everything that its predecessor acknowledged, and a server that is cut off from its
 * cluster takes itself for the leader for some seconds. A reader that misses something has a barrier message written: once it is
 * acknowledged, everything before it is applied.
 */
import { storeUnavailable } from '../../../core/model/errors.ts'
import type { Layout, SubjectAddress } from '../layout.ts'
import type { JetStream } from '../connection/jetstream.ts'

/** Reads per call, each after a barrier. */
const READS_MAX = 5

export class ReadBarriers {
  readonly #jetstream: JetStream
  readonly #layout: Layout
  readonly #isReplicated: boolean
  readonly #underWay = new Map<string, Promise<void>>()
  /** The barrier after the current one. Callers that arrive while one is under way cannot rely on it and share the next. */
  readonly #next = new Map<string, Promise<void>>()

  constructor(jetstream: JetStream, layout: Layout, isReplicated: boolean) {
    this.#jetstream = jetstream
    this.#layout = layout
    this.#isReplicated = isReplicated
  }

  /** Resolves when the leader has applied everything acknowledged. False on a single server, which always has. */
  async pass(address: SubjectAddress): Promise<boolean> {
    if (this.#isReplicated) await this.#pass(this.#layout.barrier(address))
    return this.#isReplicated
  }

  /**
   * What `read` returns after a barrier, over the same connection: the server of the next connection may not have what is behind the
   * barrier.
   */
  async readBehind<Read>(address: SubjectAddress, read: () => Promise<Read>): Promise<Read> {
    for (let reads = 0; reads < READS_MAX; reads++) {
      await this.pass(address)
      const { disconnects } = this.#jetstream
      const found = await read()
      if (!this.#isReplicated || disconnects === this.#jetstream.disconnects) return found
    }
    throw storeUnavailable('the connection to the NATS servers breaks again and again', { retryAfterMs: 1000 })
  }

  /** What `read` returns; read again before it counts as missing. */
  async find<Read>(address: SubjectAddress, read: () => Promise<Read | undefined>): Promise<Read | undefined> {
    const found = await read()
    return found === undefined && this.#isReplicated ? this.readBehind(address, read) : found
  }

  #pass({ stream, subject }: SubjectAddress): Promise<void> {
    const next = this.#next.get(stream)
    if (next !== undefined) return next
    const before = this.#underWay.get(stream) ?? Promise.resolve()
    const mine = before
      .catch(() => {}) // reported to its callers
      .then(() => {
        this.#next.delete(stream)
        this.#underWay.set(stream, mine)
        return this.#jetstream.publish({ stream, subject, head: '{}', replaces: true })
      })
      .then(() => {})
    this.#next.set(stream, mine)
    mine.catch(() => {}) // reported to its callers
    return mine
  }
}
