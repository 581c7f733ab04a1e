/** Options of `holdfast()`, checked when it is called: a typo must not turn authentication off. */
import { resolve } from 'node:path'
import {
  aBoolean,
  aFunction,
  aList,
  anything,
  aString,
  checkOptions as checkAll,
  checkRequired,
  type OptionRules,
} from '../core/model/check-options.ts'
import { HoldfastError, messageOf } from '../core/model/errors.ts'
import { componentsIn } from '../core/ports/component-source.ts'
import type { Store } from '../core/ports/store.ts'
import { Registry } from '../core/registry.ts'
import { toBasePath } from '../http/routing/base-path.ts'
import { engineRules } from '../server/engine-rules.ts'
import type { EngineOptions } from '../server/engine-options.ts'
import { firstSegments, type ProtocolPaths, toProtocolPaths } from '../server/protocols/protocol-paths.ts'
import { assertSignedCardHost } from '../server/signed-card-host.ts'
import { type StoreConfig, toStore } from '../server/store/store-address.ts'
import { DEFAULT_STORE } from '../server/store/default-store.ts'

/** Options of `holdfast()`. */
export interface HoldfastOptions extends Omit<EngineOptions, 'store'> {
  /**
   * `sqlite:PATH`, `postgres://…`, `nats://…`, `memory:`, or an open store, which `close` closes. One process has one instance per
   * store: a second call takes it over. `memory:` is a new store with every call. Default: `sqlite:.holdfast/holdfast.db`.
   */
  readonly store?: string | Store
  /** Execute runs in this process. `false`: only accept them, for workers on the same shared store. Default: true. */
  readonly execute?: boolean
  /**
   * Keeps a process alive that the platform would freeze after a response. Called for each request, with a promise that settles when
   * the response has been sent and no run executes in this process. Default: none.
   */
  readonly waitUntil?: (promise: Promise<unknown>) => void
  /** Signals that close it: `['SIGTERM']`. The process ends afterwards, unless others listen for the signal too. Default: none. */
  readonly closeOn?: readonly NodeJS.Signals[]
  /** Public address of the mount point, such as `https://app.example/api/agents`, for share links of `runs` and A2A cards. Default: `http://localhost` and `basePath` for share links, the request's address for cards. */
  readonly url?: string
}

const RULES: OptionRules<HoldfastOptions> = {
  ...engineRules,
  store: anything,
  execute: aBoolean,
  waitUntil: aFunction,
  closeOn: aList,
  url: aString,
}

export interface CheckedOptions {
  readonly given: HoldfastOptions
  readonly basePath: string
  readonly paths: ProtocolPaths
  readonly store: Store | StoreConfig
  /** Identifies the store: instances of one store have equal keys. */
  readonly key: unknown
}

/** Throws `invalid_request` or `unsupported`, with a message for the developer. */
export function checkHoldfastOptions(given: HoldfastOptions): CheckedOptions {
  checkAll('holdfast()', given, RULES)
  checkRequired('holdfast()', given, ['components'])
  const { signals } = process.getBuiltinModule('node:os').constants
  for (const signal of given.closeOn ?? [])
    if (!Object.hasOwn(signals, signal))
      throw wrong(`closeOn: ${JSON.stringify(signal)} is not a signal such as SIGTERM`)
  void new Registry(componentsIn(given.components))
  const { store: address = DEFAULT_STORE } = given
  const paths = toProtocolPaths(given.protocols)
  assertSignedCardHost({ ...(given.url !== undefined && { url: given.url }), ...given.a2a })
  const basePath = toBasePath(given.basePath)
  const [, first = ''] = basePath.split('/')
  // A web router that removes the base path leaves no trace, so `/agents/x` would be ambiguous.
  if (first !== '' && firstSegments(paths).has(first))
    throw wrong(`basePath: /${first} is a path of the protocols themselves; use another one, such as /api${basePath}`)
  if (typeof address !== 'string') return { given, basePath, paths, store: address, key: address }
  const store = parseStore(address)
  if (given.execute === false && (store.kind === 'sqlite' || store.kind === 'memory'))
    throw wrong(
      `execute: false needs a store that other processes can share, not ${store.kind}: use postgres:// or nats://`,
    )
  return { given, basePath, paths, store, key: keyOf(store, address) }
}

/** Every call with `memory:` creates a new store. */
function keyOf(store: StoreConfig, address: string): unknown {
  if (store.kind === 'memory') return store
  return store.kind === 'sqlite' ? `sqlite:${resolve(store.path)}` : address
}

function parseStore(address: string): StoreConfig {
  try {
    return toStore(address)
  } catch (cause) {
    throw wrong(`store: ${messageOf(cause)}`, cause)
  }
}

function wrong(message: string, cause?: unknown): HoldfastError {
  return new HoldfastError('invalid_request', `holdfast(): ${message}`, { cause })
}

/** Equal for options that one engine can serve. Functions are compared by their source, because a reload creates new ones. */
export function fingerprintOf({ given, basePath }: CheckedOptions): string {
  const {
    components: _components,
    authenticate,
    store: _store,
    logger: _logger,
    waitUntil: _wait,
    closeOn: _on,
    ...rest
  } = given
  return JSON.stringify({ ...rest, basePath, hasAuthenticate: authenticate !== undefined }, (_key, value: unknown) =>
    typeof value === 'function' || value instanceof RegExp ? String(value) : value,
  )
}
