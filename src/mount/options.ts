/** Options of `holdfast()`, checked when it is called: a typo must not turn authentication off. */
import { resolve } from 'node:path'
import { HoldfastError, messageOf } from '../core/model/errors.ts'
import type { Store } from '../core/ports/store.ts'
import { Registry } from '../core/registry.ts'
import { toBasePath } from '../http/base-path.ts'
import type { AuthOptions } from '../server/auth/index.ts'
import { type EngineOptions, refuseAnyHost } from '../server/engine.ts'
import { checkProtocols, firstSegments, protocolNames } from '../server/protocols.ts'
import { type StoreConfig, toStore } from '../server/store-address.ts'

export interface HoldfastOptions extends Omit<EngineOptions, 'store'> {
  /**
   * `sqlite:PATH`, `postgres://…`, `nats://…`, `memory:`, or an open store, which `close` closes. One process has one instance per
   * store: a second call takes it over. `memory:` is a new store with every call. Default: `sqlite:.holdfast/holdfast.db`.
   */
  readonly store?: string | Store
  /** API keys and tokens, beside or instead of `authenticate`. Default: none. */
  readonly auth?: AuthOptions
  /** Execute runs in this process. `false`: only accept them, for workers on the same shared store. Default: true. */
  readonly execute?: boolean
  /** Public address of the mount point, such as `https://app.example/api/agents`, for share links of `runs` and A2A cards. */
  readonly url?: string
}

const NAMES: Readonly<Record<keyof HoldfastOptions, true>> = {
  components: true,
  store: true,
  basePath: true,
  protocols: true,
  authenticate: true,
  authenticator: true,
  auth: true,
  execute: true,
  url: true,
  audit: true,
  corsOrigins: true,
  corsLoopback: true,
  secretKeys: true,
  allowedHosts: true,
  trustProxy: true,
  a2a: true,
  supervised: true,
  limits: true,
  retention: true,
  redact: true,
  logger: true,
  clock: true,
  ids: true,
  handleUncaught: true,
}

const DEFAULT_STORE = 'sqlite:.holdfast/holdfast.db'

export interface CheckedOptions {
  readonly given: HoldfastOptions
  readonly basePath: string
  readonly store: Store | StoreConfig
  /** What instances of one store have in common. */
  readonly key: unknown
}

/** Throws `invalid_request` or `unsupported`, with a message for the developer. */
export function checkOptions(given: HoldfastOptions): CheckedOptions {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(NAMES, name)) throw wrong(`unknown option ${name}: use ${Object.keys(NAMES).join(', ')}`)
  if (!Array.isArray(given.components))
    throw wrong('components is missing: pass the agents, teams and workflows to serve')
  if (given.authenticate !== undefined && typeof given.authenticate !== 'function')
    throw wrong('authenticate must be a function that returns a principal or null')
  void new Registry(given.components)
  const { protocols = protocolNames, store: address = DEFAULT_STORE } = given
  checkProtocols(protocols)
  refuseAnyHost({ ...(given.url !== undefined && { url: given.url }), ...given.a2a })
  const basePath = toBasePath(given.basePath)
  const [, first = ''] = basePath.split('/')
  // A web router that takes the base path off leaves no trace, so `/agents/x` would have two meanings.
  if (first !== '' && firstSegments(protocols).includes(first))
    throw wrong(`basePath: /${first} is a path of the protocols themselves; use another one, such as /api${basePath}`)
  if (typeof address !== 'string') return { given, basePath, store: address, key: address }
  const store = parseStore(address)
  if (given.execute === false && (store.kind === 'sqlite' || store.kind === 'memory'))
    throw wrong(
      `execute: false needs a store that other processes can share, not ${store.kind}: use postgres:// or nats://`,
    )
  return { given, basePath, store, key: keyOf(store, address) }
}

/** A store in memory is a new one with every call. */
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

/** Equal for options that one engine can serve: functions count by their text, since a reload makes new ones. */
export function fingerprintOf({ given, basePath }: CheckedOptions): string {
  const { components: _components, authenticate, store: _store, logger: _logger, ...rest } = given
  return JSON.stringify({ ...rest, basePath, hasAuthenticate: authenticate !== undefined }, (_key, value: unknown) =>
    typeof value === 'function' || value instanceof RegExp ? String(value) : value,
  )
}
