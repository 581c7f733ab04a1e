/** One engine per store and process. Opened on first use, and reopened after a failure. */
import { HoldfastError, messageOf } from '../core/model/errors.ts'
import type { Logger } from '../core/ports/logger.ts'
import type { Store } from '../core/ports/store.ts'
import type { Authenticate } from '../server/auth/host.ts'
import type { Engine } from '../server/engine.ts'
import type { StoreConfig } from '../server/store/store-address.ts'
import { defaultLogger } from './default-logger.ts'
import { loadEngine } from './load-engine.ts'
import { type CheckedOptions, fingerprintOf, type HoldfastOptions } from './options.ts'

/** Delay before a failed open is retried. */
const REOPEN_MS = 1000

export class Instance {
  readonly #options: CheckedOptions
  readonly #logger: Logger
  readonly #before: Promise<unknown> | undefined
  readonly #onClosed: () => void
  #components: HoldfastOptions['components']
  #authenticate: Authenticate | undefined
  #engine: Engine | undefined
  #opening: Promise<Engine> | undefined
  #failure: { readonly error: HoldfastError; readonly at: number } | undefined
  #closing: Promise<void> | undefined
  #whyClosed = 'the server is shutting down'

  /** Opens nothing before `before` has settled. */
  constructor(options: CheckedOptions, onClosed: () => void, before?: Promise<unknown>) {
    this.#options = options
    this.#onClosed = onClosed
    this.#before = before
    this.#logger = options.given.logger ?? defaultLogger
    this.#components = options.given.components
    this.#authenticate = options.given.authenticate
  }

  /** The engine, if it is open. */
  get engine(): Engine | undefined {
    return this.#engine
  }

  /** Whether the engine can serve these options too. */
  takes(options: CheckedOptions): boolean {
    return this.#closing === undefined && fingerprintOf(options) === fingerprintOf(this.#options)
  }

  /** Replaces the components. Runs in progress keep the component that they started with. */
  replace({ components, authenticate }: Pick<HoldfastOptions, 'components' | 'authenticate'>): void {
    this.#components = components
    this.#authenticate = authenticate
    this.#engine?.replaceComponents(components)
  }

  /** Throws `unavailable`, with the cause, while the store cannot be opened, and when the instance is closed. */
  open(): Promise<Engine> {
    if (this.#closing !== undefined)
      return Promise.reject(new HoldfastError('unavailable', this.#whyClosed, { retryAfterMs: REOPEN_MS }))
    if (this.#failure !== undefined && performance.now() - this.#failure.at < REOPEN_MS)
      return Promise.reject(this.#failure.error)
    this.#opening ??= this.#open().catch((cause: unknown) => {
      this.#opening = undefined
      // The address may contain a password, so clients do not get the cause.
      const error = new HoldfastError('unavailable', 'the server cannot start; its log says why', {
        retryAfterMs: REOPEN_MS,
        cause,
      })
      this.#failure = { error, at: performance.now() }
      this.#logger.error({ err: cause }, `failed to start: ${messageOf(cause)}`)
      throw error
    })
    return this.#opening
  }

  /** Drains: finishes or hands over running runs, tells subscribers to reconnect, closes the store. */
  close(): Promise<void> {
    this.#closing ??= this.#close(false).finally(this.#onClosed)
    return this.#closing
  }

  /** Closes for another instance of the store. A store that was passed open stays open. */
  handOver(): Promise<void> {
    if (this.#closing === undefined) {
      this.#whyClosed = 'another holdfast() call with other settings has taken over the store'
      this.#logger.warn({}, this.#whyClosed)
    }
    this.#closing ??= this.#close(!('kind' in this.#options.store))
    return this.#closing
  }

  async #open(): Promise<Engine> {
    await this.#before?.catch(() => {}) // reported by the instance that failed to close
    const { given, basePath } = this.#options
    const { execute = true, url, a2a, waitUntil: _waitUntil, closeOn: _closeOn, ...rest } = given
    const modules = await loadEngine()
    const store = await this.#openStore(modules.openStore)
    try {
      const engine = await modules.openEngine({
        ...rest,
        basePath,
        store,
        components: this.#components,
        logger: this.#logger,
        ...(this.#authenticate !== undefined && { authenticate: (request) => this.#authenticate?.(request) }),
        ...(!execute && { limits: { ...given.limits, maxConcurrentRuns: 0 } }),
        a2a: { ...(url !== undefined && { url }), ...a2a },
      })
      engine.replaceComponents(this.#components) // they may have changed meanwhile
      engine.start()
      this.#engine = engine
      return engine
    } catch (cause) {
      if (store !== this.#options.store) await store.close()
      throw cause
    }
  }

  #openStore(open: (config: StoreConfig, logger: Logger) => Promise<Store>): Promise<Store> {
    const { store } = this.#options
    return 'kind' in store ? open(store, this.#logger) : Promise.resolve(store)
  }

  async #close(keepStore: boolean): Promise<void> {
    const engine = await this.#opening?.catch(() => undefined) // reported to the request that opened it
    const { store } = this.#options
    if (engine === undefined) return 'kind' in store || keepStore ? undefined : store.close()
    await engine.drain()
    await engine.disconnect('draining')
    this.#engine = undefined
    await engine.close({ keepStore })
  }
}
