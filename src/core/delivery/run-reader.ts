/** Reads logs for the callers of the service: pages, waits and streams, each within the caller's permissions and quotas. */
import type { Access, KnownRun } from '../access/access.ts'
import type { PrincipalQuotas } from '../access/principal-quotas.ts'
import { assertReadable } from '../model/cursor.ts'
import type { Limits } from '../model/limits.ts'
import { limitedAs, type Principal } from '../model/principal.ts'
import { events, type Slice } from '../model/slice.ts'
import { isFinished } from '../model/run.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { Store } from '../ports/store.ts'
import type { TerminalEvent } from '../structure/run-status.ts'
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { countReferenced } from './count-referenced.ts'
import { nextRecord } from './next-record.ts'
import { readCheckedLog } from './read-log.ts'
import { SubscriptionRegistry } from './subscription-registry.ts'
import type { Sink, Subscription } from './subscription.ts'
import type { ViewMemory } from './view-memory.ts'

export interface WaitOptions {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly countsAsSubscriber: boolean
}

export class RunReader {
  readonly #parts: NodeDeps
  readonly #store: Store
  readonly #limits: Limits
  readonly #access: Access
  readonly #quotas: PrincipalQuotas
  readonly #viewMemory: ViewMemory
  readonly #subscriptions: SubscriptionRegistry
  readonly #closing = new AbortController()

  constructor(parts: NodeDeps, access: Access, quotas: PrincipalQuotas, viewMemory: ViewMemory) {
    this.#parts = parts
    this.#store = parts.store
    this.#limits = parts.limits
    this.#access = access
    this.#quotas = quotas
    this.#viewMemory = viewMemory
    this.#subscriptions = new SubscriptionRegistry(parts.store, parts.limits, parts.clock)
  }

  /** Open subscriptions. */
  get subscribers(): number {
    return this.#subscriptions.size
  }

  /** Lag of the slowest subscription, in events. */
  get lag(): number {
    return this.#subscriptions.lag
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Delivers the records after an index to a sink: stored ones first, then live ones. */
  async subscribe(principal: Principal, known: KnownRun, after: number, sink: Sink): Promise<Subscription> {
    const stored = await this.#access.ownKnown(principal, known, 'read')
    assertReadable(stored, after)
    return this.#openStream(principal, stored.run.id, after, sink)
  }

  /** The stored records after an index; undefined if there are none. */
  async read(
    principal: Principal,
    known: KnownRun,
    after: number,
    maxBytes: number = this.#limits.maxReadBytes,
  ): Promise<Slice | undefined> {
    await shareEventLoop()
    const { run } = await this.#access.ownKnown(principal, known, 'read')
    return readCheckedLog(this.#store, run.id, after, maxBytes)
  }

  /** Resolves with true when the log has a record after an index, with false at the timeout, on abort or on drain. */
  async waitForMore(principal: Principal, id: string, after: number, options: WaitOptions): Promise<boolean> {
    const ended = AbortSignal.any([options.signal, this.#closing.signal])
    if (ended.aborted) return false
    assertReadable(await this.#access.own(principal, id, 'read'), after)
    const subscribe = (sink: Sink): Subscription =>
      options.countsAsSubscriber
        ? this.#openStream(principal, id, after, sink)
        : this.#access.whileCurrent(principal, (onClose) => this.#subscriptions.openUncounted(id, after, sink, onClose))
    return nextRecord(subscribe, options.timeoutMs, this.#parts.clock, ended)
  }

  /** The terminal event of a finished run. */
  async outcome(principal: Principal, id: string): Promise<TerminalEvent | undefined> {
    const { run, next } = await this.#access.own(principal, id, 'read')
    if (!isFinished(run.status)) return undefined
    const slice = await readCheckedLog(this.#store, id, next - 2, 1)
    return slice === undefined ? undefined : (events(slice).at(-1) as TerminalEvent)
  }

  /** Ends all current and future waits. */
  close(): void {
    this.#closing.abort()
    this.#subscriptions.close()
  }

  /** Opens a subscription that counts as one of the caller's streams until it is closed. */
  #openStream(principal: Principal, id: string, after: number, sink: Sink): Subscription {
    const owner = limitedAs(principal)
    const closeStream = this.#quotas.openStream(owner)
    let subscription: Subscription | undefined
    const counted = countReferenced(this.#viewMemory, owner, sink, (error) => subscription?.fail(error))
    const release = (): void => {
      closeStream()
      counted.release()
    }
    try {
      subscription = this.#access.whileCurrent(principal, (onClose) =>
        this.#subscriptions.open(id, after, counted.sink, () => {
          release()
          onClose()
        }),
      )
      return subscription
    } catch (cause) {
      release()
      throw cause
    }
  }
}
