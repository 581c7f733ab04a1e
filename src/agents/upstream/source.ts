/** An upstream as a component source: discovers its components, and fails requests immediately while it is unreachable. */
import { fromCheck } from '../../core/schema/json-schema.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import type { Component, ComponentKind, RunContext, UpstreamInfo } from '../../core/ports/component.ts'
import type { ComponentSource, Passthrough, SourceHost, SourceLoad } from '../../core/ports/component-source.ts'
import type { CommonDefinition } from '../shared/component.ts'
import { type HeaderRecord, headersFrom } from '../../client/header-source.ts'
import { UpstreamPool } from '../shared/upstream-pool.ts'
import { credentialOf, hidingCredential } from './hide-credential.ts'
import type { UpstreamOptions } from './options.ts'

/** A component, as discovered. */
export interface DiscoveredComponent {
  readonly id: string
  readonly kind: ComponentKind
  readonly name?: string
  readonly description?: string
  /** Other facts that the component depends on. */
  readonly details?: unknown
}

export interface UpstreamKind {
  readonly protocol: 'agentos' | 'openai' | 'a2a'
  /** The components of a replica. */
  find(url: string, signal: AbortSignal): Promise<readonly DiscoveredComponent[]>
  component(found: DiscoveredComponent, common: UpstreamComponent): Component
}

/** The part of a definition that all upstreams share. */
export interface UpstreamComponent extends CommonDefinition {
  readonly upstream: UpstreamInfo
  /** Headers of requests for a run. */
  readonly headersFor: (context: RunContext) => Promise<HeaderRecord>
  readonly pool: UpstreamPool
  /** Throws if a start cannot be served now. */
  readonly assertAdmits: () => void
}

const DISCOVER_INTERVAL_MS = 30_000
/** Maximum components of one upstream. */
const COMPONENTS_MAX = 10_000
const NOT_OF_ID = /[^A-Za-z0-9._-]+/g
const ID_CHARS_MAX = 128

/** The components of another server. Pass it in `components`; its components are discovered and refreshed. */
export class UpstreamSource implements ComponentSource {
  readonly name: string
  readonly url: string
  readonly discoveryIntervalMs: number
  readonly #kind: UpstreamKind
  readonly #options: UpstreamOptions
  readonly #pool: UpstreamPool
  #host: SourceHost | undefined
  #known = new Map<string, Component>()
  #isUnreachable = false

  constructor(url: string, kind: UpstreamKind, options: UpstreamOptions) {
    this.name = options.name ?? kind.protocol
    this.url = urlOf(url)
    const { replicas = [], maxConcurrentRuns, maxQueuedRuns, queueTimeoutMs, circuitBreaker = {} } = options
    const urls = [...new Set([this.url, ...replicas.map(urlOf)])]
    this.#pool = new UpstreamPool({ urls, maxConcurrentRuns, maxQueuedRuns, queueTimeoutMs, circuitBreaker })
    this.#kind = kind
    this.#options = options
    this.discoveryIntervalMs = options.discoveryIntervalMs ?? DISCOVER_INTERVAL_MS
  }

  get protocol(): string {
    return this.#kind.protocol
  }

  get forwardsCredentials(): boolean {
    return this.#options.forwardCredential === true
  }

  get passthrough(): Passthrough | undefined {
    const { passthrough, headers } = this.#options
    if (passthrough === undefined) return undefined
    const own = this.forwardsCredentials ? {} : { headers: () => headersFrom(headers) }
    return { url: this.url, atRoot: passthrough === 'root', ...own }
  }

  attach(host: SourceHost): void {
    this.#host = host
  }

  get load(): SourceLoad {
    return this.#pool.load
  }

  async discover(signal: AbortSignal): Promise<readonly Component[]> {
    try {
      const found = (await this.#find(signal)).slice(0, COMPONENTS_MAX)
      const known = new Map<string, Component>()
      for (const each of found) {
        const key = JSON.stringify(each)
        known.set(key, this.#known.get(key) ?? this.#component(each))
      }
      this.#known = known
      this.#isUnreachable = false
      return [...known.values()]
    } catch (cause) {
      this.#isUnreachable = true
      throw cause
    }
  }

  /** The components of any replica: all serve the same. */
  async #find(signal: AbortSignal): Promise<readonly DiscoveredComponent[]> {
    try {
      return await Promise.any(this.#pool.replicas.map(({ url }) => this.#kind.find(url, signal)))
    } catch (thrown) {
      throw thrown instanceof AggregateError ? thrown.errors[0] : thrown
    }
  }

  #component(found: DiscoveredComponent): Component {
    const { prefix = '', onDisconnect, redact, limits, onBusySession } = this.#options
    const alias = prefix + found.id
    const { name, description } = found
    const component = this.#kind.component(found, {
      id: alias
        .replaceAll(NOT_OF_ID, '-')
        .replace(/^[^A-Za-z0-9]+/, '')
        .slice(0, ID_CHARS_MAX),
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(onDisconnect !== undefined && { onDisconnect }),
      ...(redact !== undefined && { redact }),
      ...(limits !== undefined && { limits }),
      ...(onBusySession !== undefined && { onBusySession }),
      headersFor: (context) => this.#headersFor(context),
      upstream: {
        protocol: this.#kind.protocol,
        name: this.name,
        id: alias,
        ...(this.forwardsCredentials && { verifiesCaller: true as const }),
      },
      pool: this.#pool,
      assertAdmits: () => this.#assertAdmits(),
    })
    return this.forwardsCredentials ? hidingCredential(component, () => this.#host) : component
  }

  async #headersFor(context: RunContext): Promise<HeaderRecord> {
    const headers = await headersFrom(this.#options.headers)
    if (!this.forwardsCredentials) return headers
    const credential = await credentialOf(this.#host, context)
    return { ...headers, authorization: `Bearer ${credential.reveal()}` }
  }

  /** The reason is only for the operator: it names addresses. */
  #assertAdmits(): void {
    if (this.#isUnreachable) throw new HoldfastError('unavailable', `the upstream ${this.name} is unreachable`)
    this.#pool.assertAdmits(this.name)
  }
}

/** For forms: text, or any other JSON value. */
const FORM = { anyOf: [{ type: 'string', title: 'Input' }, {}] }

/** Input of components that take text and files: a conversation is refused, so that protocols send its last message. */
export const textInput = fromCheck((input) => {
  const { messages } = (typeof input === 'object' && input !== null ? input : {}) as { messages?: unknown }
  if (Array.isArray(messages))
    throw new HoldfastError(
      'invalid_request',
      'this upstream accepts only one message per run: send the last message instead of a list',
    )
  return input
}, FORM)

/** Input of components that take conversations too, with the caller's options. */
export const conversationInput = fromCheck((input) => input, FORM)

function urlOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  // A password in the URL would appear in logs and error messages.
  if (parsed !== undefined && (parsed.username !== '' || parsed.password !== ''))
    throw new HoldfastError(
      'invalid_request',
      `the address of the upstream at ${parsed.host} contains a user name or a password: put it into headers`,
    )
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return url.replace(/\/+$/, '')
  throw new HoldfastError('invalid_request', `an upstream needs an http(s) address, not ${JSON.stringify(url)}`)
}
