/** A node without a server: the real service on a store, in process, with short limits. */
import { onTestFinished } from 'vitest'
import { agent, type AgentDefinition } from '../../src/agents/agent.ts'
import type { Component } from '../../src/core/ports/component.ts'
import { type Clock, systemClock, systemIds } from '../../src/core/ports/clock.ts'
import { HoldfastError } from '../../src/core/model/errors.ts'
import { type EventType, isTerminal, type LoggedEvent } from '../../src/core/model/event.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import { type Logger, silentLogger } from '../../src/core/ports/logger.ts'
import { localPrincipal, type Principal } from '../../src/core/model/principal.ts'
import { events } from '../../src/core/model/slice.ts'
import type { RedactOptions } from '../../src/core/redaction/redaction.ts'
import { redactorOf } from '../../src/core/redaction/redactor.ts'
import { Registry } from '../../src/core/registry.ts'
import { isFinished, type RunStatus } from '../../src/core/model/run.ts'
import { Service, type StartCommand } from '../../src/core/service.ts'
import type { LogWriter, Store, StoredRun } from '../../src/core/ports/store.ts'
import { workIdentity } from '../../src/server/work-identity.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { until } from './until.ts'

export interface NodeOptions {
  readonly components: readonly Component[]
  /** Default: one that has the components. */
  readonly registry?: Registry
  /** Default: a new one in memory. */
  readonly store?: Store
  readonly clock?: Clock
  readonly limits?: Partial<Limits>
  readonly logger?: Logger
  readonly redact?: RedactOptions
}

/** For operations that take milliseconds, except on a busy machine. */
const WAIT_MS = 180_000

/** Leases are renewed every 500 ms, orphans polled for every 20. With a frozen clock no lease expires by itself. */
const SMALL: Partial<Limits> = { leaseMs: 1500, pollIntervalMs: 20, stopGraceMs: 50, drainTimeoutMs: 0 }

/** Starts executing runs immediately; drained after the test. */
export function openNode({
  components,
  store,
  clock = systemClock,
  limits,
  logger = silentLogger,
  redact,
  registry = new Registry(components),
}: NodeOptions): TestNode {
  const opened = store ?? createMemoryStore({ clock })
  const service = new Service({
    store: opened,
    registry,
    clock,
    ids: systemIds(),
    logger,
    limits: { ...SMALL, ...limits },
    ...(redact !== undefined && { redactor: redactorOf(undefined, redact)! }),
    ...workIdentity(opened),
  })
  service.startScheduling()
  onTestFinished(() => service.drain())
  return new TestNode(service, opened)
}

export class TestNode {
  readonly service: Service
  readonly store: Store

  constructor(service: Service, store: Store) {
    this.service = service
    this.store = store
  }

  /** Starts a run and returns its id. */
  async start(component: string, input: unknown = null, more: Partial<StartCommand> = {}): Promise<string> {
    return (await this.startAs(localPrincipal, component, input, more)).run.id
  }

  async startAs(
    principal: Principal,
    component: string,
    input: unknown = null,
    more: Partial<StartCommand> = {},
  ): Promise<StoredRun> {
    return (await this.service.start(principal, { component, input, protocol: 'test', ...more })).stored
  }

  get(id: string): Promise<StoredRun> {
    return this.service.get(localPrincipal, id)
  }

  stop(id: string, reason?: string): Promise<StoredRun> {
    return this.service.stop(localPrincipal, id, reason)
  }

  answer(id: string, answers: Readonly<Record<string, unknown>>): Promise<StoredRun> {
    return this.service.answer(localPrincipal, id, answers)
  }

  /** All stored events. */
  log(id: string): Promise<LoggedEvent[]> {
    return readEvents(this.store, id)
  }

  /** The complete log, after the run has ended. */
  async ended(id: string, withinMs = WAIT_MS): Promise<LoggedEvent[]> {
    await this.reached(id, isFinished, withinMs)
    return this.log(id)
  }

  /** The complete log, after the run has ended. Fails at once when it is started more often than that. */
  endedWithin(id: string, attempts: number): Promise<LoggedEvent[]> {
    return until(`run ${id} ended`, async () => {
      const log = await this.log(id)
      const started = typesOf(log).filter((type) => type === 'run.started').length
      if (started > attempts) throw new Error(`run ${id} was started ${started} times: ${typesOf(log).join(', ')}`)
      return isTerminal(log.at(-1)!.type) && log
    })
  }

  /** The complete log, after the run has ended. Fails at once when it waits for an answer. */
  async endedUnasked(id: string): Promise<LoggedEvent[]> {
    const { run } = await this.reached(id, (status) => status === 'paused' || isFinished(status))
    if (run.status === 'paused') throw new Error(`run ${id} asks: ${JSON.stringify(run.waiting)}`)
    return this.log(id)
  }

  /** Waits for a status. Fails at once when the run has ended with another one. */
  async reached(
    id: string,
    status: RunStatus | ((status: RunStatus) => boolean),
    withinMs = WAIT_MS,
  ): Promise<StoredRun> {
    const matches = typeof status === 'string' ? (given: RunStatus) => given === status : status
    return until(
      `run ${id} reached the expected status`,
      async () => {
        const stored = await this.store.get(id)
        if (stored === undefined || matches(stored.run.status)) return stored
        return isFinished(stored.run.status) && (await this.#endedWithout(id, 'the expected status'))
      },
      { withinMs, everyMs: 2 },
    )
  }

  /** Waits for a number of events of a type; returns the log. Fails at once when the run has ended without them. */
  emitted(id: string, type: EventType, count = 1): Promise<LoggedEvent[]> {
    const what = `run ${id} emitted ${count} of ${type}`
    return until(
      what,
      async () => {
        const log = await this.log(id)
        if (log.filter((event) => event.type === type).length >= count) return log
        return log.some((event) => isTerminal(event.type)) && this.#endedWithout(id, `${count} of ${type}`)
      },
      { withinMs: WAIT_MS, everyMs: 2 },
    )
  }

  async #endedWithout(id: string, what: string): Promise<never> {
    const log = await this.log(id)
    throw new Error(`run ${id} ended without ${what}: ${typesOf(log).join(', ')}; ${JSON.stringify(log.at(-1)!.data)}`)
  }
}

/** The agent under test. */
export function subject(run: Component['run'], more: Partial<AgentDefinition> = {}): Component {
  return agent<unknown>({ id: 'subject', ...more, run })
}

export async function readEvents(store: Store, id: string): Promise<LoggedEvent[]> {
  const log: LoggedEvent[] = []
  for (let after = -1; ;) {
    const slice = await store.read(id, after, 64 * 1024)
    if (slice === undefined) return log
    log.push(...events(slice))
    after = slice.first + slice.count - 1
  }
}

export function typesOf(log: readonly LoggedEvent[]): EventType[] {
  return log.map(({ type }) => type)
}

/** The log's text, without retracted output. */
export function textOf(log: readonly LoggedEvent[]): string {
  const standing = log.filter(({ index }) => {
    return !log.some((event) => event.type === 'attempt.discarded' && event.data.from <= index && index < event.index)
  })
  return standing.map((event) => (event.type === 'text.delta' ? event.data.text : '')).join('')
}

/** Waits for the abort signal and throws its reason, like a well-behaved agent. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}

/** One worker's connection to a store, which can be cut in both directions. */
export class Connection {
  readonly store: Store
  #cut = false

  constructor(store: Store) {
    const check = (): void => {
      if (this.#cut) throw new HoldfastError('unavailable', 'the connection is cut')
    }
    this.store = new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        const method = value.bind(target) as (...parameters: unknown[]) => unknown
        if (key === 'watch') return this.#watch(target)
        if (key === 'writer') return (...parameters: unknown[]) => checking(method(...parameters) as LogWriter, check)
        if (key === 'health') return method
        return async (...parameters: unknown[]) => {
          check()
          return method(...parameters)
        }
      },
    })
  }

  cut(): void {
    this.#cut = true
  }

  #watch(store: Store): Store['watch'] {
    return (id, listener) => store.watch(id, (hint) => (this.#cut ? undefined : listener(hint)))
  }
}

function checking(writer: LogWriter, check: () => void): LogWriter {
  return new Proxy(writer, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      const method = value.bind(target) as (...parameters: unknown[]) => unknown
      if (key === 'append') return (...parameters: unknown[]) => (check(), method(...parameters))
      return async () => {
        check()
        await method()
        check()
      }
    },
  })
}

/** A store without notifications. */
export function withoutHints(store: Store): Store {
  return overriding(store, { watch: () => () => {} })
}
