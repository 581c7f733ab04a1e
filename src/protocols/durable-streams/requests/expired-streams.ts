/** Removes expired streams, even if no request touches them. */
import type { Document } from '../../../core/model/document.ts'
import { principalOf } from '../../../core/model/principal.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import { repeatTimer } from '../../../core/runtime/timer.ts'
import type { Service } from '../../../core/service.ts'
import { changeFacts, type StreamFacts, STREAMS } from './stream-documents.ts'
import { ClientStreams } from './streams.ts'

export interface ExpiredStreamsParts {
  readonly service: Service
  readonly clock: Clock
  readonly logger: Logger
}

const SWEEP_MS = 60_000
const PAGE = 200

export class ExpiredStreams {
  readonly #parts: ExpiredStreamsParts
  readonly #streams: ClientStreams
  readonly #stopTimer: () => void
  #sweeping: Promise<void> | undefined
  #closed = false

  constructor(parts: ExpiredStreamsParts) {
    this.#parts = parts
    this.#streams = new ClientStreams(parts.service, parts.clock)
    this.#stopTimer = repeatTimer(() => void this.#sweep(), SWEEP_MS, parts.clock)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopTimer()
    await this.#sweeping
  }

  #sweep(): Promise<void> {
    this.#sweeping ??= this.#removeAll()
      .catch((cause: unknown) => {
        this.#parts.logger.warn({ err: cause }, 'failed to look for expired streams')
      })
      .finally(() => (this.#sweeping = undefined))
    return this.#sweeping
  }

  async #removeAll(): Promise<void> {
    const now = this.#parts.clock.now()
    let removed = 0
    for (let offset = 0; ;) {
      const query = { collection: STREAMS, order: 'updated', ascending: true, limit: PAGE, offset } as const
      const { documents } = await this.#parts.service.allDocuments(query)
      for (const document of documents) {
        if (this.#closed) return
        const { until = Infinity } = document.body as StreamFacts
        if (until <= now && (await this.#remove(document))) removed++
        else offset++ // what was removed has moved the others up
      }
      if (documents.length < PAGE) break
    }
    if (removed > 0) this.#parts.logger.info({ streams: removed }, 'removed expired streams')
  }

  /** Returns whether the document was removed too. */
  async #remove({ owner, id: key }: Document): Promise<boolean> {
    const principal = principalOf(owner)
    try {
      if ((await this.#streams.findByKey(principal, key)) !== undefined) return false
      return (await changeFacts(this.#parts.service, principal, key, withoutLifetime)) === undefined
    } catch (cause) {
      this.#parts.logger.warn({ stream: key, err: cause }, 'failed to remove an expired stream; it will be retried')
      return false
    }
  }
}

/** A deleted stream with forks keeps its name. */
function withoutLifetime({ at: _at, until: _until, ...rest }: StreamFacts): StreamFacts | undefined {
  return Object.keys(rest).length === 0 ? undefined : rest
}
