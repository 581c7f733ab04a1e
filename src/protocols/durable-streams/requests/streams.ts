/** Client-written streams: lookup by name, creation, forks, expiry and deletion. */
import { createHash } from 'node:crypto'
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import { isFinished, type RunStatus } from '../../../core/model/run.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Service } from '../../../core/service.ts'
import { appendEvent, closeEvents, streamKind } from '../view/stream-state.ts'
import type { Content } from '../wire/content.ts'
import { streamError } from '../wire/errors.ts'
import type { Lifetime } from './headers.ts'
import { redactedAppend } from './redacted-append.ts'
import { changeFacts, factsOf, LATEST_SHARE, noteAccess, releaseParent } from './stream-documents.ts'

/** Component name for scopes: `component:durable-stream`. */
export const STREAM_COMPONENT = 'durable-stream'

/** Configuration of a stream, stored in its run's metadata. */
export interface StreamConfig extends Lifetime {
  readonly name: string
  readonly contentType: string
  readonly fork?: Fork
  /** Number of records after creation. With fewer, the creation was interrupted. */
  readonly records: number
}

export interface Fork {
  /** Key of the source. */
  readonly parent: string
  /** Index of the first record that is not inherited. */
  readonly next: number
  /** Messages or bytes inherited from that record. */
  readonly part: number
}

export interface KnownStream {
  readonly stored: StoredRun
  readonly config: StreamConfig
  readonly key: string
  readonly isClosed: boolean
  /** Index of the next append. */
  readonly tail: number
}

interface NewStream {
  readonly config: StreamConfig
  /** Pages of inherited appends, then the first content. */
  readonly contents: () => AsyncIterable<readonly Content[]>
  readonly closes: boolean
}

export class ClientStreams {
  readonly #service: Service
  readonly #clock: Clock

  constructor(service: Service, clock: Clock) {
    this.#service = service
    this.#clock = clock
  }

  /** Throws `not_found`, or 410 for a name that forks reserve. `isAccess`: extends the TTL. */
  async get(principal: Principal, name: string, isAccess = true): Promise<KnownStream> {
    const found = await this.find(principal, name)
    if (found === undefined) throw await this.#missing(principal, name)
    const { ttl } = found.config
    if (ttl !== undefined && isAccess) {
      const at = await this.#accessedAt(principal, found)
      await noteAccess(this.#service, principal, found.key, { ttlMs: ttl * 1000, now: this.#clock.now(), at })
    }
    return found
  }

  /** Undefined if the stream does not exist, has expired, or was not created completely. */
  find(principal: Principal, name: string): Promise<KnownStream | undefined> {
    return this.findByKey(principal, keyOf(name))
  }

  async findByKey(principal: Principal, key: string): Promise<KnownStream | undefined> {
    const stored = await this.#service.findStarted(principal, key)
    if (stored === undefined || stored.run.component !== STREAM_COMPONENT) return undefined
    const known = toStream(stored, key)
    if (stored.next < known.config.records) {
      if (stored.lease !== undefined && stored.lease.until > this.#clock.now()) throw beingCreated()
      await this.#removeIfAllowed(principal, known)
      return undefined
    }
    if (!(await this.#isExpired(principal, known))) return known
    await this.#removeIfAllowed(principal, known)
    return undefined
  }

  /** Undefined if a concurrent request created a stream with this name. */
  async create(principal: Principal, { config, contents, closes }: NewStream): Promise<KnownStream | undefined> {
    const { clientLogs } = this.#service
    const key = keyOf(config.name)
    const facts = await factsOf(this.#service, principal, key)
    if (facts?.deleted === true)
      throw streamError('conflict', 'the name is reserved until the forks of the deleted stream are deleted')
    const parent = config.fork?.parent
    const draft = { component: STREAM_COMPONENT, key, metadata: { stream: config }, protocol: 'durable-streams' }
    const until = this.#untilOf(config)
    // Before the stream: the remains of an interrupted creation are then found when they expire.
    if (until !== undefined)
      await changeFacts(this.#service, principal, key, (known) => ({ ...known, until }), { withinQuota: true })
    const created = await clientLogs.create(principal, draft)
    if (created.kind !== 'created') return undefined
    const { id } = created.stored.run
    if (parent !== undefined) {
      await changeFacts(this.#service, principal, parent, (known) => ({ ...known, forks: (known.forks ?? 0) + 1 }))
      await changeFacts(this.#service, principal, key, (known) => ({ ...known, parent }))
    }
    for await (const page of contents()) {
      const events = page.map((content) => appendEvent({ content }))
      const bytes = JSON.stringify(page).length
      const decision = { events, result: undefined, afterRedaction: redactedAppend }
      await clientLogs.append(principal, id, streamKind, { bytes, decide: () => decision })
    }
    if (closes)
      await clientLogs.append(principal, id, streamKind, {
        bytes: 0,
        decide: () => ({ events: closeEvents(undefined), result: undefined }),
      })
    return toStream(await this.#service.get(principal, id), key)
  }

  /** Forks keep what they inherited; only the name stays reserved. */
  async remove(principal: Principal, { stored, key, config }: KnownStream, reason = 'deleted'): Promise<void> {
    await this.#service.clientLogs.remove(principal, stored.run.id, reason)
    const left = await changeFacts(this.#service, principal, key, ({ forks = 0, parent }) =>
      forks === 0 ? undefined : { forks, deleted: true, ...(parent !== undefined && { parent }) },
    )
    if (left === undefined) await releaseParent(this.#service, principal, config.fork?.parent)
  }

  async #removeIfAllowed(principal: Principal, stream: KnownStream): Promise<void> {
    try {
      await this.remove(principal, stream, 'expired')
    } catch (cause) {
      if (!isHoldfastError(cause, 'forbidden') && !isHoldfastError(cause, 'not_found')) throw cause
    }
  }

  async #missing(principal: Principal, name: string): Promise<HoldfastError> {
    const facts = await factsOf(this.#service, principal, keyOf(name))
    return facts?.deleted === true
      ? streamError('cursor_expired', 'the stream was deleted; streams that were forked from it exist')
      : new HoldfastError('not_found', 'no such stream')
  }

  async #isExpired(principal: Principal, stream: KnownStream): Promise<boolean> {
    const { ttl, expiresAt } = stream.config
    const now = this.#clock.now()
    if (expiresAt !== undefined) return now >= Date.parse(expiresAt)
    if (ttl === undefined) return false
    const ttlMs = ttl * 1000
    const createdAt = Date.parse(stream.stored.run.createdAt)
    if (now < createdAt + ttlMs) return false
    return now >= (await this.#accessedAt(principal, stream)) + ttlMs * LATEST_SHARE
  }

  #untilOf({ ttl, expiresAt }: Lifetime): number | undefined {
    if (expiresAt !== undefined) return Date.parse(expiresAt)
    return ttl === undefined ? undefined : this.#clock.now() + ttl * 1000 * LATEST_SHARE
  }

  async #accessedAt(principal: Principal, { key, stored }: KnownStream): Promise<number> {
    return (await factsOf(this.#service, principal, key))?.at ?? Date.parse(stored.run.createdAt)
  }
}

function beingCreated(): HoldfastError {
  const details = { beingCreated: true }
  return new HoldfastError('unavailable', 'the stream is being created: try again', { retryAfterMs: 1000, details })
}

/** Otherwise the store is unavailable, and what exists is unknown. */
export function isBeingCreated(cause: unknown): boolean {
  return isHoldfastError(cause, 'unavailable') && cause.details?.['beingCreated'] === true
}

/** Hashed, because names may be longer than keys. */
export function keyOf(name: string): string {
  return `stream:${createHash('sha256').update(name).digest('hex')}`
}

function toStream(stored: StoredRun, key: string): KnownStream {
  const config = stored.run.metadata!['stream'] as StreamConfig
  const { status } = stored.run
  return { stored, config, key, isClosed: isFinished(status), tail: stored.next - endRecords(status) }
}

/** Number of records at the end of a log that are not appends: resumption, stop request and terminal event. */
function endRecords(status: RunStatus): number {
  if (!isFinished(status)) return 0
  return status === 'completed' || status === 'cancelled' ? 2 : 1
}
