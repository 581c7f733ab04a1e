/** A worker: executes runs of a shared store without serving requests. */
import { checkOptions, checkRequired, type OptionRules } from '../core/model/check-options.ts'
import type { Component } from '../core/ports/component.ts'
import { type Clock, type Ids, systemClock, systemIds } from '../core/ports/clock.ts'
import { defaultLimits, type Limits } from '../core/model/limits.ts'
import { type Logger, silentLogger } from '../core/ports/logger.ts'
import type { RedactOptions } from '../core/redaction/redaction.ts'
import { Registry } from '../core/registry.ts'
import { Service } from '../core/service.ts'
import type { Store } from '../core/ports/store.ts'
import { aStore, engineRules } from './engine-rules.ts'
import { EventLoopMonitor } from './event-loop/monitor.ts'
import { openRedaction } from './open-redaction.ts'
import { openStore } from './store/open-store.ts'
import { handleUncaughtErrors } from './uncaught-errors.ts'
import { workIdentity } from './work-identity.ts'

/** Options of `createWorker`. */
export interface WorkerOptions {
  /** Components to execute. Component sources are not supported: a worker executes only components whose code it has. */
  readonly components: readonly Component[]
  /** `postgres://…`, `nats://…`, `sqlite:PATH`, or an open store. `close` closes it. */
  readonly store: string | Store
  /** Limits that differ from the defaults. Default: as `Limits` says. */
  readonly limits?: Partial<Limits>
  /** Must match that of the servers. Default: no redaction. */
  readonly redact?: RedactOptions
  /** Receives log lines. Default: silent. */
  readonly logger?: Logger
  /** For tests. Default: the system clock. */
  readonly clock?: Clock
  /** For tests. Default: random ids that sort by creation. */
  readonly ids?: Ids
  /** An uncaught error in a run's code fails the run instead of ending the process. Default: true. */
  readonly handleUncaught?: boolean
}

const RULES: OptionRules<WorkerOptions> = {
  components: engineRules.components,
  store: aStore,
  limits: engineRules.limits,
  redact: engineRules.redact,
  logger: engineRules.logger,
  clock: engineRules.clock,
  ids: engineRules.ids,
  handleUncaught: engineRules.handleUncaught,
}

/** The public part of a worker. */
export interface HoldfastWorker {
  /** Drains: finishes or hands over running runs, and closes the store. */
  close(): Promise<void>
}

/** A worker with its service, for internal use. */
export interface Worker extends HoldfastWorker {
  readonly service: Service
}

export async function createWorker(options: WorkerOptions): Promise<Worker> {
  checkOptions('createWorker()', options, RULES)
  checkRequired('createWorker()', options, ['components', 'store'])
  const { components, limits = {}, clock = systemClock } = options
  const { redactor, logger } = await openRedaction(options.redact, options.logger ?? silentLogger)
  const ids = options.ids ?? systemIds(clock)
  const store = typeof options.store === 'string' ? await openStore(options.store, logger) : options.store
  const service = new Service({
    store,
    registry: new Registry(components),
    clock,
    ids,
    logger,
    limits,
    ...(redactor !== undefined && { redactor }),
    ...workIdentity(store),
  })
  const { eventLoopBlockedMs = defaultLimits.eventLoopBlockedMs } = limits
  const loop = new EventLoopMonitor({ eventLoopBlockedMs, logger })
  const stopHandlingUncaught = options.handleUncaught === false ? undefined : handleUncaughtErrors()
  service.startScheduling()
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await service.drain()
    await store.close()
    stopHandlingUncaught?.()
    await loop.close()
  }
  return { service, close: () => (closing ??= close()) }
}
