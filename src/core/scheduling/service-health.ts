/** The health of a node: its store, its load, and whether it drains. Logs when the store becomes unavailable. */
import type { Dispatcher } from './dispatcher.ts'
import { STORE_UNAVAILABLE } from '../model/errors.ts'
import type { EventLoopHealth } from '../ports/event-loop-health.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { SourceHealth } from '../ports/component-source.ts'
import type { RunReader } from '../delivery/run-reader.ts'
import type { StoreHealth } from '../ports/store.ts'
import { QueueLength } from '../runtime/queue-length.ts'
import type { RunCounts } from '../runtime/run-counts.ts'
import { StoreProbe } from '../runtime/store-probe.ts'

export interface ServiceHealth {
  readonly ok: boolean
  readonly store: StoreHealth
  readonly draining: boolean
  readonly running: number
  readonly subscribers: number
  readonly eventLoop?: EventLoopHealth
  /** Upstreams whose components are served here. */
  readonly upstreams?: readonly SourceHealth[]
}

export interface ServiceLoad extends Pick<RunCounts, 'attempts' | 'ended'> {
  readonly running: number
  /** Sleeping runs of this node without a worker slot. */
  readonly sleeping: number
  readonly subscribers: number
  /** Lag of the slowest subscriber, in events. */
  readonly lag: number
  /** Runs of dead workers that this node recovered. */
  readonly recovered: number
  /** Runs of dead workers that this node had to fail. */
  readonly failed: number
}

export interface HealthMonitorOptions extends Pick<NodeDeps, 'store' | 'limits' | 'clock' | 'logger'> {
  readonly counts: RunCounts
  readonly dispatcher: Dispatcher
  readonly reader: RunReader
  readonly eventLoop: (() => EventLoopHealth) | undefined
  readonly upstreams?: (() => readonly SourceHealth[]) | undefined
}

export class HealthMonitor {
  readonly #options: HealthMonitorOptions
  readonly #probe: StoreProbe
  readonly #queue: QueueLength
  /** Why the store was unavailable at the last health check, as logged. */
  #loggedFailure: string | undefined

  constructor(options: HealthMonitorOptions) {
    this.#options = options
    this.#probe = new StoreProbe(options)
    this.#queue = new QueueLength(options)
  }

  /** Health as last observed. */
  lastObserved(): ServiceHealth {
    return this.#healthWith(this.#options.store.health())
  }

  /** Health now: probes the store, with a timeout. */
  async probe(): Promise<ServiceHealth> {
    return this.#healthWith(await this.#probe.health())
  }

  /** Queued runs of all nodes; undefined if the store does not respond in time. */
  queueLength(): Promise<number | undefined> {
    return this.#queue.now()
  }

  /** The node's current load, and its counts since it started. */
  load(): ServiceLoad {
    const { counts, dispatcher, reader } = this.#options
    const { attempts, ended } = counts
    const { running, sleeping, takeovers } = dispatcher
    return { running, sleeping, subscribers: reader.subscribers, lag: reader.lag, ...takeovers, attempts, ended }
  }

  #healthWith(store: StoreHealth): ServiceHealth {
    const { dispatcher, reader, eventLoop, upstreams, logger } = this.#options
    const others = upstreams?.() ?? []
    const failure = store.ok ? undefined : store.reason
    if (failure !== this.#loggedFailure) {
      this.#loggedFailure = failure
      if (failure !== undefined) logger.warn({ reason: failure }, STORE_UNAVAILABLE)
    }
    return {
      ok: store.ok && !dispatcher.draining,
      store,
      draining: dispatcher.draining,
      running: dispatcher.running,
      subscribers: reader.subscribers,
      ...(eventLoop !== undefined && { eventLoop: eventLoop() }),
      ...(others.length > 0 && { upstreams: others }),
    }
  }
}
