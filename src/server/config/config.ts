/** Reads and validates the configuration from flags and environment. */
import { BlockList, isIP } from 'node:net'
import { HoldfastError } from '../../core/model/errors.ts'
import type { Limits } from '../../core/model/limits.ts'
import type { RedactOptions } from '../../core/redaction/redaction.ts'
import { redactByName } from '../../core/redaction/redactions.ts'
import type { A2aOptions } from '../../protocols/a2a/index.ts'
import type { AuthOptions, JwtOptions } from '../auth/index.ts'
import { configOptions, type LogLevel, type StoreConfig } from './config-options.ts'
import { type Environment, type OptionValues, type ParsedOptions, parseOptions } from './options.ts'
import type { ProtocolChoice } from '../protocols/protocol-paths.ts'
import type { RetentionOptions } from '../retention/retention.ts'

/** Open streams may use this many times the size of the view cache, even if the cache is disabled. */
const HELD_VIEWS_FACTOR = 4
const HELD_VIEW_BYTES_MIN = 128 * 1024 * 1024

export interface Config {
  /** 0 selects a free port. */
  readonly port: number
  readonly host: string
  readonly basePath?: string
  readonly protocols?: ProtocolChoice
  readonly store: StoreConfig
  readonly lab: boolean
  /** Restart the server when its process dies. */
  readonly supervise: boolean
  readonly logLevel: LogLevel
  readonly auth: AuthOptions
  /** Keys that encrypt stored credentials, or `file:PATH`. */
  readonly secretKey?: string
  /** Path. */
  readonly auditLog?: string
  /** Paths. */
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly redact?: RedactOptions
  readonly corsOrigins: readonly string[]
  readonly allowedHosts?: readonly string[]
  readonly trustProxy: readonly string[]
  readonly model: ModelConfig
  readonly a2a: A2aConfig
  readonly streamWebhooks: { readonly loopback: boolean }
  readonly limits: Partial<Limits>
  readonly retention: RetentionOptions
  /** Arguments that are not flags: the file to serve. */
  readonly positionals: readonly string[]
}

export interface A2aConfig {
  readonly defaultComponent?: string
  readonly url?: string
  readonly errorTable: '1.0.1' | '1.0.0'
  readonly unversionedCard: 'both' | '1.0'
  readonly deduplicateMessages: NonNullable<A2aOptions['deduplicateMessages']>
  readonly agents?: NonNullable<A2aOptions['agents']>
  readonly push: { readonly loopback: boolean }
  readonly grpcPort?: number
  /** Path of the key that signs cards. */
  readonly signKey?: string
}

/** Model for the demo. Default: the scripted one. */
export interface ModelConfig {
  /** An OpenAI-compatible API. */
  readonly url?: string
  readonly name?: string
  readonly key?: string
}

type Values = OptionValues<typeof configOptions>

/** Throws `invalid_request` or `unsupported`, with a message for the user. */
export function readConfig(argv: readonly string[], env: Environment): Config {
  return configOf(parseOptions(configOptions, argv, env))
}

/** For commands with options of their own. */
export function configOf({ values, positionals }: ParsedOptions<typeof configOptions>): Config {
  const auth = toAuth(values)
  checkExposure(values, auth)
  return {
    port: values.port,
    host: values.host,
    ...(values['base-path'] !== undefined && { basePath: values['base-path'] }),
    ...(values.protocols !== undefined && { protocols: values.protocols }),
    store: withOutage(values.store, values['store-outage']),
    lab: values.lab,
    supervise: values.supervise,
    logLevel: values['log-level'],
    auth,
    ...(values['secret-key'] !== undefined && { secretKey: values['secret-key'] }),
    ...(values['audit-log'] !== undefined && { auditLog: values['audit-log'] }),
    ...toTls(values),
    ...(values.redact !== undefined && { redact: redactByName(values.redact) }),
    corsOrigins: values['cors-origins'] ?? [],
    ...(values['allowed-hosts'] !== undefined && { allowedHosts: values['allowed-hosts'] }),
    trustProxy: values['trust-proxy'] ?? [],
    model: toModel(values),
    a2a: toA2a(values),
    streamWebhooks: { loopback: values['stream-webhook-loopback'] },
    limits: {
      retainMs: values.retain.defaultMs,
      retainRunsMs: values['retain-runs'].defaultMs,
      maxRetainedBytes: values['retain-size'],
      maxConcurrentRuns: values['max-runs'],
      maxRunsPerPrincipal: values['max-runs-per-principal'],
      maxStartsPerSecond: values['max-starts-per-second'],
      maxStartBurst: values['max-starts-per-second'] * 10,
      maxRequestsPerSecond: values['max-requests-per-second'],
      maxRequestBurst: values['max-requests-per-second'] * 5,
      maxRequestsPerSecondPerAddress: values['max-requests-per-address'],
      maxRequestBurstPerAddress: values['max-requests-per-address'] * 5,
      maxStreamsPerPrincipal: values['max-streams-per-principal'],
      maxStoredBytesPerPrincipal: values['max-stored-per-principal'],
      maxDocumentsPerPrincipal: values['max-documents-per-principal'],
      maxQueuedRuns: values['max-queued'],
      maxViewCacheBytes: values['view-cache'],
      maxActiveViewBytes: Math.max(HELD_VIEWS_FACTOR * values['view-cache'], HELD_VIEW_BYTES_MIN),
      maxAttempts: values['max-attempts'],
      eventLoopBlockedMs: values['loop-blocked'],
      heartbeatIntervalMs: values.heartbeat,
      drainTimeoutMs: values['drain-timeout'],
    },
    retention: toRetentionOptions(values),
    positionals,
  }
}

export function toRetentionOptions(values: Pick<Values, 'retain' | 'retain-runs'>): RetentionOptions {
  const { defaultMs: _events, ...events } = values.retain
  const { defaultMs: _runs, ...runs } = values['retain-runs']
  return { events, runs }
}

/** Only stores on the network can have outages. */
function withOutage(store: StoreConfig, outageTimeoutMs: number): StoreConfig {
  return store.kind === 'postgres' || store.kind === 'nats' ? { ...store, outageTimeoutMs } : store
}

function toTls({ 'tls-cert': cert, 'tls-key': key }: Values): Pick<Config, 'tls'> {
  if (cert === undefined && key === undefined) return {}
  if (cert === undefined) throw usage('--tls-key needs --tls-cert: the certificate that it belongs to')
  if (key === undefined) throw usage('--tls-cert needs --tls-key: the private key of the certificate')
  return { tls: { cert, key } }
}

function toA2a(values: Values): A2aConfig {
  const { 'a2a-default': first, 'a2a-url': url, 'a2a-errors': errorTable, 'a2a-sign-key': signKey } = values
  // Otherwise cards name the requested host, and a client could get any host signed.
  if (signKey !== undefined && url === undefined)
    throw new HoldfastError('invalid_request', '--a2a-sign-key needs --a2a-url: the address that signed cards name')
  return {
    ...(first !== undefined && { defaultComponent: first }),
    ...(url !== undefined && { url }),
    errorTable,
    unversionedCard: values['a2a-card'],
    deduplicateMessages: values['a2a-idempotent'],
    ...toA2aAgents(values),
    push: { loopback: values['a2a-push-loopback'] },
    ...(values['a2a-grpc-port'] !== undefined && { grpcPort: values['a2a-grpc-port'] }),
    ...(signKey !== undefined && { signKey }),
  }
}

function toA2aAgents({ 'a2a-direct': direct = [], 'a2a-no-streaming': quiet = [] }: Values): Pick<A2aConfig, 'agents'> {
  const ids = new Set([...direct, ...quiet])
  if (ids.size === 0) return {}
  const cardOf = (id: string) => ({
    ...(direct.includes(id) && { answersDirectly: true }),
    ...(quiet.includes(id) && { streaming: false }),
  })
  return { agents: Object.fromEntries([...ids].map((id) => [id, cardOf(id)])) }
}

function toModel({ 'model-url': url, model: name, 'model-key': key }: Values): ModelConfig {
  return {
    ...(url !== undefined && { url }),
    ...(name !== undefined && { name }),
    ...(key !== undefined && { key }),
  }
}

function toAuth(values: Values): AuthOptions {
  const jwt = toJwt(values)
  const { 'auth-keys': keys, 'security-key': securityKey } = values
  return {
    ...(keys !== undefined && { keys }),
    ...(securityKey !== undefined && { securityKey }),
    ...(jwt !== undefined && { jwt }),
    ...(values.auth === 'passthrough' && { passthrough: true }),
  }
}

const DEPEND_ON_JWT = [
  'jwt-issuer',
  'jwt-audience',
  'jwt-principal-claim',
  'jwt-tenant-claim',
  'jwt-scopes-claim',
] as const

function toJwt(values: Values): JwtOptions | undefined {
  const { 'jwt-jwks': jwks, 'jwt-key': key } = values
  if (jwks !== undefined && key !== undefined)
    throw usage('--jwt-jwks and --jwt-key cannot be combined: use one of them')
  if (jwks === undefined && key === undefined) {
    const dangling = DEPEND_ON_JWT.find((name) => values[name] !== undefined)
    if (dangling !== undefined)
      throw usage(`--${dangling} needs --jwt-jwks or --jwt-key: without them no token is checked`)
    return undefined
  }
  return {
    jwks,
    key,
    issuer: values['jwt-issuer'],
    audience: values['jwt-audience'],
    principalClaim: values['jwt-principal-claim'],
    tenantClaim: values['jwt-tenant-claim'],
    scopesClaim: values['jwt-scopes-claim'],
    requireExpiry: values['jwt-require-exp'],
  }
}

/** Without authentication everyone is the same principal, so only this machine may be able to connect. */
function checkExposure({ host, 'insecure-no-auth': insecure }: Values, auth: AuthOptions): void {
  const authenticates = Object.keys(auth).length > 0
  if (authenticates && insecure) {
    throw usage(
      '--insecure-no-auth cannot be combined with --auth-keys, --security-key, --jwt-jwks or --jwt-key: leave one of them out',
    )
  }
  if (authenticates || insecure || isLoopback(host)) return
  const next = 'add --auth-keys, --jwt-jwks or --jwt-key, or --insecure-no-auth if everyone there may use it'
  throw usage(`--host ${host} can be reached by other machines and no authentication is configured: ${next}`)
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

export function isLoopback(host: string): boolean {
  const version = isIP(host)
  return version === 0 ? host.toLowerCase() === 'localhost' : loopback.check(host, version === 4 ? 'ipv4' : 'ipv6')
}

function usage(message: string): HoldfastError {
  return new HoldfastError('invalid_request', message)
}
