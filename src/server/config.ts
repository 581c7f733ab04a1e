/** One checked configuration from flags and environment, by one table. */
import { BlockList, isIP } from 'node:net'
import { HoldfastError } from '../core/errors.ts'
import type { Limits } from '../core/limits.ts'
import { defaultLimits } from '../core/limits.ts'
import type { AuthOptions, JwtOptions } from './auth/index.ts'
import {
  toBearer,
  toChoice,
  toCount,
  toDuration,
  toOrigins,
  toPort,
  toSize,
  toSwitch,
  toText,
  toWebAddress,
} from './option-values.ts'
import type { Environment, OptionTable, OptionValues } from './options.ts'
import { parseOptions } from './options.ts'
import { type NatsConfig, toNats } from './nats-address.ts'
import { type PostgresConfig, toPostgres } from './postgres-address.ts'

export type StoreConfig =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'memory' }
  | PostgresConfig
  | NatsConfig

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export interface Config {
  /** 0 takes a free one. */
  readonly port: number
  readonly host: string
  readonly store: StoreConfig
  readonly lab: boolean
  /** Start the server again when it is killed. */
  readonly supervise: boolean
  readonly logLevel: LogLevel
  readonly auth: AuthOptions
  readonly corsOrigins: readonly string[]
  readonly model: ModelConfig
  readonly a2a: A2aConfig
  readonly limits: Partial<Limits>
  /** What the command line has besides flags: the file to serve. */
  readonly positionals: readonly string[]
}

export interface A2aConfig {
  readonly default?: string
  readonly url?: string
  readonly errorTable: '1.0.1' | '1.0.0'
  readonly push: { readonly loopback: boolean }
  readonly grpcPort?: number
  /** Path of the key that cards are signed with. */
  readonly signKey?: string
}

/** The model that the demo's components ask, where it is not to be the scripted one. */
export interface ModelConfig {
  /** Of an API that is compatible with OpenAI's. */
  readonly url?: string
  readonly name?: string
  readonly key?: string
}

const HOUR_MS = 3_600_000

/** In the order of the help and of docs/config.md, whose table a test compares with this one. */
export const configOptions = {
  port: {
    value: 'PORT',
    env: 'HOLDFAST_PORT',
    fallback: '7777',
    parse: toPort,
    help: 'Port to listen on; 0 takes a free one.',
  },
  host: {
    value: 'ADDRESS',
    env: 'HOLDFAST_HOST',
    fallback: '127.0.0.1',
    parse: toHost,
    help: 'Address to listen on; one that other machines can reach needs authentication.',
  },
  store: {
    value: 'STORE',
    env: 'HOLDFAST_STORE',
    fallback: 'sqlite:.holdfast/holdfast.db',
    parse: toStore,
    help: 'Where runs are kept: sqlite:PATH, postgres://… or nats://… for many nodes, or memory: to forget them at the end.',
  },
  lab: {
    env: 'HOLDFAST_LAB',
    fallback: 'false',
    parse: toSwitch,
    help: 'Serve the lab agent too, which does whatever its input says.',
  },
  supervise: {
    env: 'HOLDFAST_SUPERVISE',
    fallback: 'false',
    parse: toSwitch,
    help: 'Serve in a process of its own, and start it again whenever it is killed.',
  },
  'model-url': {
    value: 'URL',
    env: 'HOLDFAST_MODEL_URL',
    parse: toWebAddress,
    help: 'For the demo: ask models at this address, which is compatible with the API of OpenAI.',
  },
  model: {
    value: 'NAME',
    env: 'HOLDFAST_MODEL',
    parse: toText,
    help: 'For the demo: the model to ask there, or with OPENAI_API_KEY or ANTHROPIC_API_KEY.',
  },
  'model-key': {
    value: 'KEY',
    env: 'HOLDFAST_MODEL_KEY',
    parse: toText,
    help: 'For the demo: the key for the address of --model-url, where it needs one.',
  },
  'log-level': {
    value: 'LEVEL',
    env: 'HOLDFAST_LOG_LEVEL',
    fallback: 'info',
    parse: toChoice(logLevels),
    help: `How much the server logs: ${logLevels.join(', ')}.`,
  },
  'auth-keys': {
    value: 'PATH',
    env: 'HOLDFAST_AUTH_KEYS',
    parse: toText,
    help: 'Require an API key of this file; holdfast keys makes and revokes them.',
  },
  'security-key': {
    value: 'KEY',
    env: 'HOLDFAST_SECURITY_KEY',
    alias: 'OS_SECURITY_KEY',
    parse: toBearer,
    help: 'Require this key as a bearer token; whoever has it is the principal local. OS_SECURITY_KEY is taken too.',
  },
  'jwt-jwks': {
    value: 'URL',
    env: 'HOLDFAST_JWT_JWKS',
    parse: toText,
    help: 'Accept tokens signed with a key of this key set: an http(s) URL or a path.',
  },
  'jwt-key': {
    value: 'KEY',
    env: 'HOLDFAST_JWT_KEY',
    parse: toText,
    help: 'Accept tokens signed with this key: PEM or JWK text or the path of one, secret:TEXT or secret-file:PATH.',
  },
  'jwt-issuer': {
    value: 'ISSUER',
    env: 'HOLDFAST_JWT_ISSUER',
    parse: toText,
    help: 'Refuse tokens of another issuer.',
  },
  'jwt-audience': {
    value: 'AUDIENCE',
    env: 'HOLDFAST_JWT_AUDIENCE',
    parse: toText,
    help: 'Refuse tokens for another audience.',
  },
  'jwt-principal-claim': {
    value: 'CLAIM',
    env: 'HOLDFAST_JWT_PRINCIPAL_CLAIM',
    parse: toText,
    help: 'Claim that says who is calling; sub when not given.',
  },
  'jwt-tenant-claim': {
    value: 'CLAIM',
    env: 'HOLDFAST_JWT_TENANT_CLAIM',
    parse: toText,
    help: 'Claim that says which tenant the caller is of; tokens without it are refused.',
  },
  'cors-origins': {
    value: 'ORIGINS',
    env: 'HOLDFAST_CORS_ORIGINS',
    parse: toOrigins,
    help: 'Let pages of these origins use the server from a browser: https://app.example,http://localhost:3000.',
  },
  'insecure-no-auth': {
    env: 'HOLDFAST_INSECURE_NO_AUTH',
    fallback: 'false',
    parse: toSwitch,
    help: 'Serve everyone who can reach an address that is not loopback, without authentication.',
  },
  'a2a-default': {
    value: 'COMPONENT',
    env: 'HOLDFAST_A2A_DEFAULT',
    parse: toText,
    help: 'Component whose A2A card is at the root of the server; the first one when not given.',
  },
  'a2a-url': {
    value: 'URL',
    env: 'HOLDFAST_A2A_URL',
    parse: toWebAddress,
    help: 'Address that A2A cards say the server has; the one that a client asked when not given.',
  },
  'a2a-errors': {
    value: 'TABLE',
    env: 'HOLDFAST_A2A_ERRORS',
    fallback: '1.0.1',
    parse: toChoice(['1.0.1', '1.0.0']),
    help: 'Version of the A2A specification whose table gives errors their statuses: 1.0.1 or 1.0.0.',
  },
  'a2a-sign-key': {
    value: 'PATH',
    env: 'HOLDFAST_A2A_SIGN_KEY',
    parse: toText,
    help: 'Sign A2A cards and push notifications with the private key of this file, PEM or JWK.',
  },
  'a2a-grpc-port': {
    value: 'PORT',
    env: 'HOLDFAST_A2A_GRPC_PORT',
    parse: toCount(0, 65_535),
    help: 'Port to serve A2A over gRPC on; 0 takes a free one. It is not served when not given.',
  },
  'a2a-push-loopback': {
    env: 'HOLDFAST_A2A_PUSH_LOOPBACK',
    fallback: 'false',
    parse: toSwitch,
    help: 'Let A2A push notifications go to this machine itself, as tests need it; without it they go to public addresses only.',
  },
  retain: {
    value: 'DURATION',
    env: 'HOLDFAST_RETAIN',
    fallback: String(defaultLimits.retainMs),
    parse: toDuration,
    help: 'Trim the events of runs that finished longer ago than this, such as 30d; 0 keeps them for ever.',
  },
  'retain-size': {
    value: 'SIZE',
    env: 'HOLDFAST_RETAIN_SIZE',
    fallback: String(defaultLimits.retainBytesMax),
    parse: toSize,
    help: 'Trim the oldest finished runs while the log is larger than this, such as 10GB; 0 is no bound.',
  },
  'max-runs': {
    value: 'N',
    env: 'HOLDFAST_MAX_RUNS',
    fallback: String(defaultLimits.runsConcurrentMax),
    parse: toCount(0, 1_000_000),
    help: 'Runs driven at once; more of them wait. 0 leaves them all to the workers of a shared store.',
  },
  'max-queued': {
    value: 'N',
    env: 'HOLDFAST_MAX_QUEUED',
    fallback: String(defaultLimits.runsQueuedMax),
    parse: toCount(0, 10_000_000),
    help: 'Runs that may wait for a place before a start is refused with 429; one principal may have as many waiting as places are left.',
  },
  'drain-ms': {
    value: 'MS',
    env: 'HOLDFAST_DRAIN_MS',
    fallback: String(defaultLimits.drainMs),
    parse: toCount(0, 24 * HOUR_MS),
    help: 'How long shutdown waits for running runs before it hands them over.',
  },
} as const satisfies OptionTable

type Values = OptionValues<typeof configOptions>

/** Throws `invalid_request` or `unsupported` with a message for the person who wrote the command. */
export function readConfig(argv: readonly string[], env: Environment): Config {
  const { values, positionals } = parseOptions(configOptions, argv, env)
  const auth = toAuth(values)
  checkExposure(values, auth)
  return {
    port: values.port,
    host: values.host,
    store: values.store,
    lab: values.lab,
    supervise: values.supervise,
    logLevel: values['log-level'],
    auth,
    corsOrigins: values['cors-origins'] ?? [],
    model: toModel(values),
    a2a: toA2a(values),
    limits: {
      retainMs: values.retain,
      retainBytesMax: values['retain-size'],
      runsConcurrentMax: values['max-runs'],
      runsQueuedMax: values['max-queued'],
      drainMs: values['drain-ms'],
    },
    positionals,
  }
}

function toA2a(values: Values): A2aConfig {
  const { 'a2a-default': first, 'a2a-url': url, 'a2a-errors': errorTable, 'a2a-sign-key': signKey } = values
  return {
    ...(first !== undefined && { default: first }),
    ...(url !== undefined && { url }),
    errorTable,
    push: { loopback: values['a2a-push-loopback'] },
    ...(values['a2a-grpc-port'] !== undefined && { grpcPort: values['a2a-grpc-port'] }),
    ...(signKey !== undefined && { signKey }),
  }
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
  }
}

const DEPEND_ON_JWT = ['jwt-issuer', 'jwt-audience', 'jwt-principal-claim', 'jwt-tenant-claim'] as const

function toJwt(values: Values): JwtOptions | undefined {
  const { 'jwt-jwks': jwks, 'jwt-key': key } = values
  if (jwks !== undefined && key !== undefined)
    throw usage('--jwt-jwks and --jwt-key cannot be combined: give one of them')
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
  }
}

/** Without authentication everybody is the same principal, so nobody else may be able to connect. */
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

/** An IPv6 address may be written as in a URL. */
function toHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0 || /^[a-z0-9][a-z0-9.-]*$/i.test(host)) return host
  throw new Error(`${JSON.stringify(text)} is not an address: give an IP address or a host name, without a port`)
}

function toStore(text: string): StoreConfig {
  if (text === 'memory:') return { kind: 'memory' }
  if (/^sqlite:(?!:|$)/.test(text)) return { kind: 'sqlite', path: text.slice('sqlite:'.length) }
  if (/^postgres(ql)?:\/\//.test(text)) return toPostgres(text)
  if (/^(nats|tls):\/\//.test(text)) return toNats(text)
  // Not repeated: the URL of a database server has a password in it.
  if (/^[a-z+]+:\/\//i.test(text))
    throw new HoldfastError(
      'unsupported',
      'unsupported in this version: use sqlite:PATH, postgres://…, nats://… or memory:',
    )
  throw new Error(`${JSON.stringify(text)} is not a store: use sqlite:PATH, postgres://…, nats://… or memory:`)
}

function usage(message: string): HoldfastError {
  return new HoldfastError('invalid_request', message)
}
