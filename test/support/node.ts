/** A node without a server: the real service on a store, in the test's own process, with bounds of some milliseconds. */
import { onTestFinished } from 'vitest'
import { agent, type AgentDefinition } from '../../src/agents/generator.ts'
import type { Component } from '../../src/core/ports/component.ts'
import { type Clock, systemClock, systemIds } from '../../src/core/ports/clock.ts'
import { HoldfastError } from '../../src/core/model/errors.ts'
import type { EventType, LoggedEvent } from '../../src/core/model/event.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import { type Logger, silentLogger } from '../../src/core/ports/logger.ts'
import { localPrincipal, type Principal } from '../../src/core/model/principal.ts'
import { events } from '../../src/core/model/record.ts'
import type { RedactOptions } from '../../src/core/redaction/redaction.ts'
import { redactorOf } from '../../src/core/redaction/redactor.ts'
import { Registry } from '../../src/core/registry.ts'
import { isFinished, type RunStatus } from '../../src/core/model/run.ts'
import { Service, type StartRequest } from '../../src/core/service.ts'
import type { LogWriter, Store, StoredRun } from '../../src/core/ports/store.ts'
import { workIdentity } from '../../src/server/work-identity.ts'
import { openMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { until } from './until.ts'

export interface NodeOptions {
  readonly components: readonly Component[]
  /** A new one in memory where none is given. */
  readonly store?: Store
  readonly clock?: Clock
  readonly limits?: Partial<Limits>
  readonly logger?: Logger
  readonly redact?: RedactOptions
}

/** For what takes milliseconds, except on a machine that is busy with something else. */
const WAIT_MS = 60_000

/** Claims are renewed, and left runs looked for, every 50 ms. With a clock that stands still no lease runs out by itself. */
const SMALL: Partial<Limits> = { leaseMs: 150, pollIntervalMs: 20, stopGraceMs: 50, drainTimeoutMs: 0 }

/** Begins to drive runs at once; drained when the test is over. */
export function openNode({
  components,
  store,
  clock = systemClock,
  limits,
  logger = silentLogger,
  redact,
}: NodeOptions): TestNode {
  const opened = store ?? openMemoryStore({ clock })
  const service = new Service({
    store: opened,
    registry: new Registry(components),
    clock,
    ids: systemIds(),
    logger,
    limits: { ...SMALL, ...limits },
    ...(redact !== undefined && { redactor: redactorOf(undefined, redact)! }),
    ...workIdentity(opened),
  })
  service.begin()
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

  /** The id of a new run. */
  async start(component: string, input: unknown = null, more: Partial<StartRequest> = {}): Promise<string> {
    return (await this.startAs(localPrincipal, component, input, more)).run.id
  }

  async startAs(
    principal: Principal,
    component: string,
    input: unknown = null,
    more: Partial<StartRequest> = {},
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

  /** All events that the store has. */
  log(id: string): Promise<LoggedEvent[]> {
    return readEvents(this.store, id)
  }

  /** The whole log, once the run has ended. */
  async ended(id: string, withinMs = WAIT_MS): Promise<LoggedEvent[]> {
    await this.reached(id, isFinished, withinMs)
    return this.log(id)
  }

  /** The run, once it has the status. */
  async reached(
    id: string,
    status: RunStatus | ((status: RunStatus) => boolean),
    withinMs = WAIT_MS,
  ): Promise<StoredRun> {
    const matches = typeof status === 'string' ? (given: RunStatus) => given === status : status
    return until(
      `run ${id} came to the status that was waited for`,
      async () => {
        const stored = await this.store.get(id)
        return stored !== undefined && matches(stored.run.status) && stored
      },
      { withinMs, everyMs: 2 },
    )
  }

  /** The log, once it has so many events of a type. */
  emitted(id: string, type: EventType, count = 1): Promise<LoggedEvent[]> {
    const what = `run ${id} emitted ${count} of ${type}`
    return until(
      what,
      async () => {
        const log = await this.log(id)
        return log.filter((event) => event.type === type).length >= count && log
      },
      { withinMs: WAIT_MS, everyMs: 2 },
    )
  }
}

/** An agent with a name that says what it is here for. */
export function subject(run: Component['run'], more: Partial<AgentDefinition<unknown>> = {}): Component {
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

/** What a reader of the log is left with: its text, without what was withdrawn. */
export function textOf(log: readonly LoggedEvent[]): string {
  const standing = log.filter(({ index }) => {
    return !log.some((event) => event.type === 'attempt.discarded' && event.data.from <= index && index < event.index)
  })
  return standing.map((event) => (event.type === 'text.delta' ? event.data.text : '')).join('')
}

/** Waits for a signal, and then throws what it was aborted with: what a well-behaved agent does. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}

/** A store as one worker sees it, until its connection is cut: from then on it can neither say nor hear anything. */
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

/** A store that tells nobody anything. */
export function withoutHints(store: Store): Store {
  return overriding(store, { watch: () => () => {} })
}
