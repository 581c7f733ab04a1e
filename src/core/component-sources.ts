/** Keeps the registry up to date with the components of sources: discovers at intervals, and soon after an unknown id. */
import { HoldfastError, messageOf } from './model/errors.ts'
import { type Clock, elapsedOf } from './ports/clock.ts'
import type { Component } from './ports/component.ts'
import type { ComponentSource, SourceHealth } from './ports/component-source.ts'
import type { Logger } from './ports/logger.ts'
import type { Registry } from './registry.ts'
import { startTimer } from './runtime/timer.ts'

/** Time limit of one discovery. */
const DISCOVERY_TIMEOUT_MS = 5000
/** Interval while a source is unreachable, and shortest interval in any case. */
const RETRY_MS = 2000

interface SourceState {
  readonly source: ComponentSource
  /** As last discovered. Kept while the source is unreachable, so that its runs are still known. */
  components: readonly Component[]
  /** Whether the source was reached at least once. */
  isDiscovered: boolean
  health: SourceHealth
  /** By the monotonic clock. */
  startedAt: number
  running: Promise<void> | undefined
  stopTimer: (() => void) | undefined
}

export interface ComponentSourcesOptions {
  readonly registry: Registry
  readonly sources: readonly ComponentSource[]
  /** Components that are always served. */
  readonly fixed: readonly Component[]
  readonly clock: Clock
  readonly logger: Logger
}

export class ComponentSources {
  readonly #options: ComponentSourcesOptions
  readonly #states: readonly SourceState[]
  readonly #closed = new AbortController()
  #fixed: readonly Component[]

  constructor(options: ComponentSourcesOptions) {
    this.#options = options
    this.#fixed = options.fixed
    checkNames(options.sources)
    const since = new Date(options.clock.now()).toISOString()
    this.#states = options.sources.map((source) => {
      const { name, protocol, url } = source
      return {
        source,
        components: [],
        isDiscovered: false,
        health: { name, protocol, url, status: 'unknown', components: 0, since },
        startedAt: -Infinity,
        running: undefined,
        stopTimer: undefined,
      }
    })
    if (this.#states.length === 0) return
    options.registry.onUnknown = () => this.#refresh()
    options.registry.isIncomplete = () => this.#states.some(({ isDiscovered }) => !isDiscovered)
  }

  /** Runs the first discovery of all sources. Unreachable sources are retried later. */
  async start(): Promise<void> {
    await Promise.all(this.#states.map((state) => this.#discover(state)))
  }

  health(): readonly SourceHealth[] {
    return this.#states.map(({ health, source: { load } }) => ({ ...health, ...(load !== undefined && { load }) }))
  }

  /** Replaces the components that are always served. */
  replaceFixed(components: readonly Component[]): void {
    this.#fixed = components
    this.#publish()
  }

  close(): void {
    this.#closed.abort()
    for (const { stopTimer } of this.#states) stopTimer?.()
    this.#options.registry.onUnknown = undefined
  }

  /** Discovers again because a request named an unknown component, which may be new. */
  #refresh(): void {
    const now = elapsedOf(this.#options.clock)
    for (const state of this.#states) if (now - state.startedAt >= RETRY_MS) void this.#discover(state)
  }

  #discover(state: SourceState): Promise<void> {
    state.running ??= this.#look(state).finally(() => {
      state.running = undefined
      if (this.#closed.signal.aborted) return
      const delayMs = state.health.status === 'ok' ? state.source.discoveryIntervalMs : RETRY_MS
      state.stopTimer?.()
      state.stopTimer = startTimer(() => void this.#discover(state), delayMs, this.#options.clock)
    })
    return state.running
  }

  async #look(state: SourceState): Promise<void> {
    state.startedAt = elapsedOf(this.#options.clock)
    const late = AbortSignal.timeout(DISCOVERY_TIMEOUT_MS)
    try {
      const found = await state.source.discover(AbortSignal.any([this.#closed.signal, late]))
      const isChanged =
        found.length !== state.components.length || found.some((each, at) => each !== state.components[at])
      state.components = found
      if (isChanged) this.#publish()
      state.isDiscovered = true
      this.#report(state, this.#conflictsOf(state))
    } catch (cause) {
      if (this.#closed.signal.aborted) return
      this.#report(state, { status: 'unreachable', error: messageOf(cause) })
    }
  }

  /** Publishes all components. If several discovered ones have the same id, the first one wins. */
  #publish(): void {
    const taken = new Set(this.#fixed.map(({ id }) => id))
    const found = new Map<string, Component>()
    for (const component of this.#states.flatMap(({ components }) => components))
      if (!taken.has(component.id) && !found.has(component.id)) found.set(component.id, component)
    this.#options.registry.replace([...this.#fixed, ...found.values()])
  }

  #conflictsOf({ source, components }: SourceState): Pick<SourceHealth, 'status' | 'error'> {
    const taken = components.map(({ id }) => id).filter((id) => !components.includes(this.#options.registry.find(id)!))
    if (taken.length === 0) return { status: 'ok' }
    const error = `${taken.slice(0, 5).join(', ')}: other components have the same id. Set a prefix for the upstream ${source.name}`
    return { status: 'conflict', error }
  }

  #report(state: SourceState, { status, error }: Pick<SourceHealth, 'status' | 'error'>): void {
    const { health, source } = state
    const components = state.components.filter((each) => this.#options.registry.find(each.id) === each).length
    const hasChanged = health.status !== status || health.error !== error
    const since = health.status === status ? health.since : new Date(this.#options.clock.now()).toISOString()
    const { name, protocol, url } = source
    state.health = { name, protocol, url, status, components, since, ...(error !== undefined && { error }) }
    if (!hasChanged) return
    const about = { upstream: name, url, components }
    if (status === 'ok') this.#options.logger.info(about, 'discovered the components of an upstream')
    else
      this.#options.logger.warn(
        { ...about, error },
        status === 'conflict' ? 'an upstream has component ids that are already in use' : 'an upstream is unreachable',
      )
  }
}

function checkNames(sources: readonly ComponentSource[]): void {
  const names = new Set<string>()
  for (const { name } of sources) {
    if (names.has(name))
      throw new HoldfastError('conflict', `two upstreams are named ${name}: give one of them another \`name\``)
    names.add(name)
  }
}
