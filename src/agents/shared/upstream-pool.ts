/** Sends requests that start work on an upstream: chooses the replica, limits concurrency, and records the outcome. */
import { createHash } from 'node:crypto'
import { HoldfastError } from '../../core/model/errors.ts'
import { WorkError } from '../../core/ports/component.ts'
import type { SourceLoad } from '../../core/ports/component-source.ts'
import { type CircuitBreakerOptions, CircuitBreaker } from './circuit-breaker.ts'
import { RemoteError, RetryBudget, type RetryOptions } from './remote.ts'
import { Semaphore } from './semaphore.ts'

export interface UpstreamPoolOptions {
  /** Base URLs of the replicas. */
  readonly urls: readonly string[]
  /** Maximum runs that the upstream executes concurrently for this node. Default: no limit. */
  readonly maxConcurrentRuns?: number | undefined
  /** Maximum runs that wait for a slot; further starts are refused. Default: 1,000. */
  readonly maxQueuedRuns?: number | undefined
  /** How long a run waits for a slot before it fails. Default: 60,000. */
  readonly queueTimeoutMs?: number | undefined
  /** Default: off. */
  readonly circuitBreaker?: CircuitBreakerOptions | undefined
}

export interface Replica {
  readonly url: string
  /** Identifies it in logs of runs, which should not contain its address. */
  readonly id: string
  readonly breaker: CircuitBreaker
}

const QUEUE_MAX = 1000
const QUEUE_TIMEOUT_MS = 60_000

export class UpstreamPool {
  readonly replicas: readonly Replica[]
  readonly #slots: Semaphore
  readonly #maxConcurrentRuns: number
  readonly #maxQueuedRuns: number
  readonly #queueTimeoutMs: number
  #running = 0
  #refused = 0
  #retried = 0
  #failedOver = 0

  constructor({
    urls,
    maxConcurrentRuns = Infinity,
    maxQueuedRuns,
    queueTimeoutMs,
    circuitBreaker,
  }: UpstreamPoolOptions) {
    this.replicas = urls.map((url) => ({
      url,
      id: createHash('sha256').update(url).digest('hex').slice(0, 8),
      breaker: new CircuitBreaker(circuitBreaker ?? { failureThreshold: 0 }),
    }))
    this.#slots = new Semaphore(maxConcurrentRuns)
    this.#maxConcurrentRuns = maxConcurrentRuns
    this.#maxQueuedRuns = maxQueuedRuns ?? QUEUE_MAX
    this.#queueTimeoutMs = queueTimeoutMs ?? QUEUE_TIMEOUT_MS
  }

  get load(): SourceLoad {
    const circuits = this.replicas.map(({ breaker }) => breaker.state)
    // Open if no replica may get a request.
    const circuit = (['closed', 'half-open'] as const).find((each) => circuits.includes(each)) ?? 'open'
    return {
      circuit,
      circuits,
      running: this.#running,
      queued: this.#slots.waiting,
      ...(Number.isFinite(this.#maxConcurrentRuns) && { concurrency: this.#maxConcurrentRuns }),
      refused: this.#refused,
      retried: this.#retried,
      failedOver: this.#failedOver,
    }
  }

  /** Throws if a run could not be served now, so that its start is refused immediately. */
  assertAdmits(upstream: string): void {
    if (!this.replicas.some(({ breaker }) => breaker.isPassable)) {
      this.#refused++
      const retryAfterMs = Math.min(...this.replicas.map(({ breaker }) => breaker.retryAfterMs))
      throw new HoldfastError('unavailable', `the upstream ${upstream} failed too often: its circuit is open`, {
        retryAfterMs,
      })
    }
    if (this.#isFull) {
      this.#refused++
      const message = `the upstream ${upstream} is busy and ${this.#maxQueuedRuns} runs wait for it already: retry later`
      throw new HoldfastError('rate_limited', message, { retryAfterMs: 1000 })
    }
  }

  get #isFull(): boolean {
    return !this.#slots.hasFree && this.#slots.waiting >= this.#maxQueuedRuns
  }

  /** A slot for one run, which `acquire` takes. */
  slot(signal: AbortSignal): UpstreamSlot {
    return new UpstreamSlot(() => this.#take(signal))
  }

  async #take(signal: AbortSignal): Promise<() => void> {
    if (this.#isFull) throw this.#overloaded(`${this.#maxQueuedRuns} runs wait for it already`)
    const late = this.#slots.hasFree ? undefined : AbortSignal.timeout(this.#queueTimeoutMs)
    try {
      const release = await this.#slots.take(late === undefined ? signal : AbortSignal.any([signal, late]))
      this.#running++
      return () => {
        this.#running--
        release()
      }
    } catch (thrown) {
      if (signal.aborted || late?.aborted !== true) throw thrown
      throw this.#overloaded(`it had no capacity for this run within ${this.#queueTimeoutMs} ms`)
    }
  }

  #overloaded(why: string): WorkError {
    this.#refused++
    const message = `the upstream is busy: ${why}`
    return new WorkError({ code: 'upstream_overloaded', message, retryable: true })
  }

  /** The replica of a recorded id; the first one if the configuration no longer has it. */
  replicaOf(id: string | undefined): Replica {
    return this.replicas.find((each) => each.id === id) ?? this.replicas[0]!
  }

  /** Replicas in a session's order of preference: the same one first each time, others for other sessions. */
  preferred(session: string): readonly Replica[] {
    if (this.replicas.length === 1) return this.replicas
    const weight = ({ id }: Replica): string => createHash('sha256').update(`${id} ${session}`).digest('hex')
    return this.replicas
      .map((replica) => ({ replica, weight: weight(replica) }))
      .toSorted((one, other) => (one.weight < other.weight ? -1 : 1))
      .map(({ replica }) => replica)
  }

  /**
   * Sends a request that starts work to the first replica of the order. As long as the upstream certainly has not acted on it, the
   * request goes to the next replica, and is repeated when all have failed.
   */
  async send<Result>(
    order: readonly Replica[],
    retry: RetryOptions,
    signal: AbortSignal,
    attempt: (replica: Replica) => Promise<Result>,
  ): Promise<Result> {
    const budget = new RetryBudget(retry, signal)
    let failure: RemoteError | undefined
    for (;;) {
      let hasFailed = false
      for (const replica of order) {
        if (!replica.breaker.pass()) continue
        if (hasFailed) this.#failedOver++
        try {
          const result = await attempt(replica)
          replica.breaker.succeeded()
          return result
        } catch (thrown) {
          recordOutcome(replica.breaker, thrown)
          if (!(thrown instanceof RemoteError)) throw thrown
          if (!thrown.safeToResend) throw new WorkError(thrown.failure)
          failure = thrown
          hasFailed = true
        }
      }
      if (failure === undefined || order.every(({ breaker }) => !breaker.isPassable))
        throw new WorkError((failure ?? circuitOpen()).failure)
      await budget.wait(failure)
      this.#retried++
    }
  }
}

export class UpstreamSlot {
  readonly #take: () => Promise<() => void>
  #release: Promise<() => void> | undefined

  constructor(take: () => Promise<() => void>) {
    this.#take = take
  }

  /** Waits for the slot; returns immediately if it already has it. */
  async acquire(): Promise<void> {
    this.#release ??= this.#take()
    await this.#release
  }

  release(): void {
    void this.#release?.then(
      (release) => release(),
      () => {},
    )
    this.#release = undefined
  }
}

/** Releases the slot when the work ends, however it ends. */
export async function* withSlot<Item, Result>(
  pool: UpstreamPool,
  signal: AbortSignal,
  work: (slot: UpstreamSlot) => AsyncGenerator<Item, Result, void>,
): AsyncGenerator<Item, Result, void> {
  const slot = pool.slot(signal)
  try {
    return yield* work(slot)
  } finally {
    slot.release()
  }
}

/** An error status shows that the server works; only its 5xx errors and silence count against it. */
function recordOutcome(breaker: CircuitBreaker, thrown: unknown): void {
  if (thrown instanceof RemoteError) {
    const { code, status = 0 } = thrown
    if (status === 429) return breaker.undecided()
    if (code === 'upstream_unreachable' || status >= 500) return breaker.failed()
  }
  if (thrown instanceof RemoteError || thrown instanceof WorkError) breaker.succeeded()
  else breaker.undecided()
}

function circuitOpen(): RemoteError {
  return new RemoteError('the upstream failed too often: its circuit is open', { code: 'upstream_unreachable' })
}
