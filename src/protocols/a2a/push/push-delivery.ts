/** Delivers the pushes of one configuration in order, while it holds the delivery's lease. */
import type { Clock } from '../../../core/ports/clock.ts'
import { START } from '../../../core/model/cursor.ts'
import type { Document } from '../../../core/model/document.ts'
import { isHoldfastError, messageOf } from '../../../core/model/errors.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import type { OwnedDocuments } from '../../../core/sessions/owned-documents.ts'
import type { Principal } from '../../../core/model/principal.ts'
import { lastOf, recordsOf } from '../../../core/model/slice.ts'
import type { SecretBox } from '../../../core/ports/secret-box.ts'
import type { Service } from '../../../core/service.ts'
import type { Fold } from '../../../core/delivery/fold-queue.ts'
import { retainedBytes } from '../../../core/delivery/retained-bytes.ts'
import { shareEventLoop } from '../../../core/runtime/share-event-loop.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { TaskFrame } from '../view/projection.ts'
import { streamProjection } from '../view/stream-start.ts'
import { DEAD_LETTERS, DELIVERIES, PUSH_CONFIGS } from '../collections.ts'
import { deliverable, type StoredPushConfig } from './configs.ts'
import type { CardSigner } from '../wire/signing.ts'
import { AddressRefused, type Lookup } from '../../../http/webhooks/addresses.ts'
import { type Delivery, deliveryId, deliveryIn, endDelivery, retryDelayMs } from './deliveries.ts'
import type { PushLimits } from './limits.ts'
import { notificationOf } from './notification.ts'
import { signNotification } from './signature.ts'
import { post, RedirectRefused } from '../../../http/webhooks/post.ts'

export interface PushDeliveryParts {
  readonly service: Service
  readonly clock: Clock
  readonly logger: Logger
  /** Id of this node. */
  readonly node: string
  readonly loopback: boolean
  readonly lookup?: Lookup | undefined
  readonly signer?: CardSigner | undefined
  readonly secrets?: SecretBox | undefined
  readonly limits: PushLimits
  /** Aborted at shutdown. */
  readonly signal: AbortSignal
}

/** Another node took over the delivery, or it was removed. */
class DeliveryLostError extends Error {}
/** The receiver rejected the notification, or this node has no capacity for it. A retry is scheduled. */
class DeliveryPostponedError extends Error {}

export class PushDelivery {
  readonly #parts: PushDeliveryParts
  readonly #principal: Principal
  readonly #documents: OwnedDocuments
  #delivery: Delivery
  #version: number
  /** Set while everything is delivered and the delivery waits for more. */
  #idleWait: AbortController | undefined

  constructor(parts: PushDeliveryParts, principal: Principal, document: Document) {
    this.#parts = parts
    this.#principal = principal
    this.#documents = parts.service.documents(principal)
    this.#delivery = deliveryIn(document)
    this.#version = document.version
  }

  /** Settles when nothing is left to deliver for now, the task has ended, or a retry is due later. Failures are recorded first. */
  async run(): Promise<void> {
    try {
      await this.#note({}) // claims it: one of several nodes succeeds
      const isDone = await this.#follow()
      if (isDone) await this.#documents.remove(DELIVERIES, this.#id)
      else await this.#note({}, 'release')
    } catch (cause) {
      if (cause instanceof DeliveryLostError || cause instanceof DeliveryPostponedError) return
      if (this.#parts.signal.aborted) return await this.#note({}, 'release').catch(() => {}) // otherwise the lease expires
      if (isHoldfastError(cause, 'rate_limited') || isHoldfastError(cause, 'unavailable')) return await this.#postpone()
      await this.#failed(cause)
      throw cause
    }
  }

  /** Whether everything is delivered and the delivery waits for more. */
  get isIdle(): boolean {
    return this.#idleWait !== undefined
  }

  /** Makes an idle delivery return to polling now, so that another one gets its slot. */
  yieldSlot(): void {
    this.#idleWait?.abort()
  }

  get #id(): string {
    return deliveryId(this.#delivery.task, this.#delivery.config)
  }

  /** Returns true when the log has ended and is fully delivered. Counts as a fold of the run's owner. */
  async #follow(): Promise<boolean> {
    const { service } = this.#parts
    const stored = await service.get(this.#principal, this.#delivery.task)
    const fold = service.views.folds.begin(stored.run.owner)
    try {
      return await this.#followFold(stored, fold)
    } finally {
      fold.end()
    }
  }

  async #followFold({ run, first, next }: StoredRun, fold: Fold): Promise<boolean> {
    const { service, signal } = this.#parts
    const { task, from, sequence } = this.#delivery
    // A trimmed log has only its last event.
    const begin = first > 0 ? next - 1 : sequence === undefined ? from : START
    const projection = streamProjection(begin === START ? { kind: 'start' } : { kind: 'index', index: begin })
    let state = projection.initial(run)
    let ownBytes = 0
    for (let after = Math.max(START, first - 1); ;) {
      const slice = await service.read(this.#principal, task, after)
      if (slice === undefined) {
        this.#delivery = { ...this.#delivery, told: after + 1 }
        if (signal.aborted) return false
        fold.pause()
        const hasMore = await this.#waitForMore(after, fold.signal)
        fold.signal.throwIfAborted()
        if (!hasMore) return false
        continue
      }
      for (const { event, text, isAscii } of recordsOf(slice)) {
        const projected = projection.apply(state, event)
        state = projected.state
        ownBytes += retainedBytes(event, text.length, isAscii)
        for (const frame of projected.frames) if (first > 0 || this.#isNew(frame)) await this.#deliver(frame, fold)
        const nextTick = shareEventLoop()
        if (nextTick !== undefined) await nextTick
      }
      if (slice.closed) return true
      fold.retain({ view: fold, sharedBytes: 0, ownBytes })
      after = lastOf(slice)
      if (after < next - 1) await fold.proceed()
    }
  }

  /** Returns true when there are new events. */
  async #waitForMore(after: number, shed: AbortSignal): Promise<boolean> {
    const { service, limits, signal } = this.#parts
    this.#idleWait = new AbortController()
    const ended = AbortSignal.any([signal, shed, this.#idleWait.signal])
    try {
      return await service.waitForMore(this.#principal, this.#delivery.task, after, limits.followTimeoutMs, ended)
    } finally {
      this.#idleWait = undefined
    }
  }

  #isNew({ sequence }: TaskFrame): boolean {
    return this.#delivery.sequence === undefined || sequence > this.#delivery.sequence
  }

  async #deliver(frame: TaskFrame, fold: Fold): Promise<void> {
    const { loopback, lookup, signer, clock, limits } = this.#parts
    const signal = AbortSignal.any([this.#parts.signal, fold.signal])
    signal.throwIfAborted()
    const notification = notificationOf(frame, await this.#config())
    if (notification === undefined) return
    // Releases the fold slot while the receiver responds.
    fold.pause()
    try {
      const sent = signer === undefined ? notification : await signNotification(notification, signer, clock.now())
      await post(sent, { loopback, lookup, timeoutMs: limits.requestTimeoutMs, signal })
    } catch (cause) {
      signal.throwIfAborted()
      await this.#failed(cause)
      throw new DeliveryPostponedError()
    }
    const { error: _error, ...delivery } = this.#delivery
    this.#delivery = delivery
    await this.#note({ sequence: frame.sequence, failures: 0, due: 0 })
  }

  /** Reads the current configuration, which may have changed or been removed. */
  async #config(): Promise<StoredPushConfig> {
    const found = await this.#documents.get(PUSH_CONFIGS, this.#id)
    if (found !== undefined) return deliverable(found, this.#parts.secrets)
    await endDelivery(this.#documents, this.#delivery.task, this.#delivery.config)
    throw new DeliveryLostError()
  }

  /** Whether this node reads too many long runs, which does not count as a failure of the receiver. */
  async #postpone(): Promise<void> {
    const { limits, clock } = this.#parts
    await this.#note({ due: clock.now() + retryDelayMs(this.#delivery.failures, limits) }, 'release')
  }

  async #failed(cause: unknown): Promise<void> {
    const { limits, clock } = this.#parts
    const failures = this.#delivery.failures + 1
    const error = messageOf(cause)
    const isHopeless = cause instanceof AddressRefused || cause instanceof RedirectRefused
    if (isHopeless || failures >= limits.maxAttempts) return this.#giveUp(failures, error)
    // Jitter, so that simultaneous failures are not retried simultaneously.
    const due = clock.now() + Math.round(retryDelayMs(failures, limits) * (0.5 + Math.random() / 2))
    await this.#note({ failures, due, error }, 'release')
  }

  /** Writes the dead letter before removing the delivery: after a crash in between, it is still active. */
  async #giveUp(failures: number, error: string): Promise<void> {
    const { lease: _lease, ...delivery } = this.#delivery
    const body: Delivery = { ...delivery, failures, error }
    await this.#note({ failures, error })
    const draft = { collection: DEAD_LETTERS, id: this.#id, label: body.task, body }
    await this.#documents.put(draft, undefined, { beyondQuota: true })
    await this.#documents.remove(DELIVERIES, this.#id)
    this.#parts.logger.warn(
      { delivery: this.#id, reason: error },
      'gave up a push after repeated failures; it is now a dead letter',
    )
  }

  /** Records progress, and renews or releases the lease. */
  async #note(changes: Partial<Delivery>, then: 'keep' | 'release' = 'keep'): Promise<void> {
    const { node: by, clock, limits } = this.#parts
    const { lease: _lease, ...before } = this.#delivery
    const lease = then === 'keep' ? { lease: { by, until: clock.now() + limits.leaseMs } } : {}
    const body: Delivery = { ...before, ...changes, ...lease }
    const draft = { collection: DELIVERIES, id: this.#id, label: body.task, body }
    const noted = await this.#documents.put(draft, this.#version, { beyondQuota: true })
    if (noted === undefined) throw new DeliveryLostError()
    this.#delivery = body
    this.#version = noted.version
  }
}
