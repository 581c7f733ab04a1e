/** What the server can be told by flags and environment: one table, which help and docs are made from. */
import { isIP } from 'node:net'
import { HoldfastError } from '../core/model/errors.ts'
import { defaultLimits } from '../core/model/limits.ts'
import { redactionsByName } from '../core/redaction/redactions.ts'
import { SECURITY_KEY_CHARS_MIN, tooShort } from './auth/index.ts'
import { type NatsConfig, toNats } from './nats-address.ts'
import {
  toBearer,
  toChoice,
  toChoices,
  toCount,
  toDuration,
  toDurationWithin,
  toHostNames,
  toOrigins,
  toPort,
  toProxies,
  toSize,
  toSwitch,
  toText,
  toWebAddress,
} from './option-values.ts'
import type { OptionTable } from './options.ts'
import { type PostgresConfig, toPostgres } from './postgres-address.ts'
import { toRetention } from './retention/periods-text.ts'
import { parseSecretKeys } from './secret-keys.ts'

export type StoreConfig =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'memory' }
  | PostgresConfig
  | NatsConfig

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

const redactionNames = Object.keys(redactionsByName) as (keyof typeof redactionsByName)[]

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
  'store-outage-timeout': {
    value: 'DURATION',
    env: 'HOLDFAST_STORE_OUTAGE_TIMEOUT',
    fallback: '60s',
    parse: toDuration,
    help: 'How long a running run waits for a postgres:// or nats:// store that cannot be reached before it is given up and recovered.',
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
    parse: toSharedKey,
    help: 'Require this key as a bearer token; whoever has it is the principal local. At least 16 characters. OS_SECURITY_KEY is taken too.',
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
    help: 'Claim that says who is calling; Default: sub.',
  },
  'jwt-tenant-claim': {
    value: 'CLAIM',
    env: 'HOLDFAST_JWT_TENANT_CLAIM',
    parse: toText,
    help: 'Claim that says which tenant the caller is of; tokens without it are refused.',
  },
  'jwt-scopes-claim': {
    value: 'CLAIM',
    env: 'HOLDFAST_JWT_SCOPES_CLAIM',
    parse: toText,
    help: 'Claim that lists what a token allows. Default: scopes. A token without it allows everything.',
  },
  'jwt-require-exp': {
    env: 'HOLDFAST_JWT_REQUIRE_EXP',
    fallback: 'true',
    parse: toSwitch,
    help: 'Refuse tokens that never expire.',
  },
  'tls-cert': {
    value: 'PATH',
    env: 'HOLDFAST_TLS_CERT',
    parse: toText,
    help: 'Serve HTTPS, and gRPC with TLS, with the certificate of this PEM file; it is read again when it changes.',
  },
  'tls-key': {
    value: 'PATH',
    env: 'HOLDFAST_TLS_KEY',
    parse: toText,
    help: 'The private key of --tls-cert, in PEM.',
  },
  'secret-key': {
    value: 'KEYS',
    env: 'HOLDFAST_SECRET_KEY',
    parse: toSecretKeys,
    help: 'Keys that encrypt stored credentials, 32 bytes each in hex or base64, separated by commas, or file:PATH. The first encrypts, all decrypt. Default: the file STORE.key, which is created, for sqlite; none for other stores.',
  },
  'audit-log': {
    value: 'PATH',
    env: 'HOLDFAST_AUDIT_LOG',
    parse: toText,
    help: 'Append the audit log to this file too, one JSON object a line.',
  },
  redact: {
    value: 'NAMES',
    env: 'HOLDFAST_REDACT',
    parse: toChoices(redactionNames),
    help: `Redact these in everything that enters a log, separated by commas: ${redactionNames.join(', ')}. Default: nothing.`,
  },
  'cors-origins': {
    value: 'ORIGINS',
    env: 'HOLDFAST_CORS_ORIGINS',
    parse: toOrigins,
    help: 'Let pages of these origins use the server from a browser: https://app.example,http://localhost:3000.',
  },
  'allowed-hosts': {
    value: 'HOSTS',
    env: 'HOLDFAST_ALLOWED_HOSTS',
    parse: toHostNames,
    help: 'Answer to these host names too: agents.example. Default: loopback names, and IP addresses where other machines can connect; with authentication all names.',
  },
  'trust-proxy': {
    value: 'ADDRESSES',
    env: 'HOLDFAST_TRUST_PROXY',
    parse: toProxies,
    help: 'Take X-Forwarded-For, -Proto and -Host from these proxies: addresses, networks such as 10.0.0.0/8, loopback or private. Default: none.',
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
    help: 'Component whose A2A card is at the root of the server. Default: the first one.',
  },
  'a2a-url': {
    value: 'URL',
    env: 'HOLDFAST_A2A_URL',
    parse: toWebAddress,
    help: 'Address that A2A cards say the server has. Default: the one that the client asked.',
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
    help: 'Sign A2A cards and push notifications with the private key of this file, PEM or JWK. Needs --a2a-url.',
  },
  'a2a-grpc-port': {
    value: 'PORT',
    env: 'HOLDFAST_A2A_GRPC_PORT',
    parse: toCount(0, 65_535),
    help: 'Port to serve A2A over gRPC on; 0 takes a free one. Default: not served.',
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
    parse: toRetention,
    help: 'Trim the events of runs that finished longer ago than this, such as 30d or 30d,writer=7d,tenant:acme=90d; 0 keeps them for ever.',
  },
  'retain-runs': {
    value: 'DURATION',
    env: 'HOLDFAST_RETAIN_RUNS',
    fallback: String(defaultLimits.retainRunsMs),
    parse: toRetention,
    help: 'Remove runs that finished longer ago than this, with their idempotency keys, and sessions that were idle for as long; written as for --retain. 0 keeps them for ever.',
  },
  'retain-size': {
    value: 'SIZE',
    env: 'HOLDFAST_RETAIN_SIZE',
    fallback: String(defaultLimits.retainBytesMax),
    parse: toSize,
    help: 'While more than this is stored, such as 10GB, trim the principals that store most, oldest first; 0 is no bound.',
  },
  'max-runs': {
    value: 'N',
    env: 'HOLDFAST_MAX_RUNS',
    fallback: String(defaultLimits.runsConcurrentMax),
    parse: toCount(0, 1_000_000),
    help: 'Runs executed at once; more of them queue. 0 leaves them all to the workers of a shared store.',
  },
  'max-runs-per-principal': {
    value: 'N',
    env: 'HOLDFAST_MAX_RUNS_PER_PRINCIPAL',
    fallback: String(defaultLimits.runsPerPrincipalMax),
    parse: toCount(0, 1_000_000),
    help: 'Runs of one principal executed at once by this node; further ones queue. 0 is half of --max-runs.',
  },
  'max-starts-per-second': {
    value: 'N',
    env: 'HOLDFAST_MAX_STARTS_PER_SECOND',
    fallback: String(defaultLimits.startsPerSecondMax),
    parse: toCount(0, 1_000_000),
    help: 'Runs that one principal may start per second on this node, with a burst of ten seconds; further starts get 429. 0 is no limit.',
  },
  'max-requests-per-second': {
    value: 'N',
    env: 'HOLDFAST_MAX_REQUESTS_PER_SECOND',
    fallback: String(defaultLimits.requestsPerSecondMax),
    parse: toCount(0, 1_000_000),
    help: 'Requests of one principal per second on this node, with a burst of five seconds; further ones get 429. 0 is no limit.',
  },
  'max-requests-per-address': {
    value: 'N',
    env: 'HOLDFAST_MAX_REQUESTS_PER_ADDRESS',
    fallback: String(defaultLimits.requestsPerAddressMax),
    parse: toCount(0, 1_000_000),
    help: 'Requests of one address per second on this node that show no credential known to be valid, with a burst of five seconds; further ones get 429. 0 is no limit.',
  },
  'max-streams-per-principal': {
    value: 'N',
    env: 'HOLDFAST_MAX_STREAMS_PER_PRINCIPAL',
    fallback: String(defaultLimits.streamsPerPrincipalMax),
    parse: toCount(1, 1_000_000),
    help: 'Event streams that one principal may have open on this node; further ones get 429.',
  },
  'max-stored-per-principal': {
    value: 'SIZE',
    env: 'HOLDFAST_MAX_STORED_PER_PRINCIPAL',
    fallback: String(defaultLimits.storedBytesPerPrincipalMax),
    parse: toSize,
    help: 'Bytes of logs and documents that one principal may have stored, such as 5GB; further starts and writes get 507. 0 is no limit.',
  },
  'max-documents-per-principal': {
    value: 'N',
    env: 'HOLDFAST_MAX_DOCUMENTS_PER_PRINCIPAL',
    fallback: String(defaultLimits.documentsPerPrincipalMax),
    parse: toCount(0, 1_000_000_000),
    help: 'Documents that one principal may have, sessions included; further ones get 507. 0 is no limit.',
  },
  'max-queued': {
    value: 'N',
    env: 'HOLDFAST_MAX_QUEUED',
    fallback: String(defaultLimits.runsQueuedMax),
    parse: toCount(0, 10_000_000),
    help: 'Maximum queued runs; further starts get 429. One principal may queue at most as many runs as slots are left.',
  },
  'max-attempts': {
    value: 'N',
    env: 'HOLDFAST_MAX_ATTEMPTS',
    fallback: String(defaultLimits.attemptsMax),
    parse: toCount(1, 1000),
    help: 'Attempts of a run that may be interrupted in a row without progress before it fails.',
  },
  'loop-blocked': {
    value: 'DURATION',
    env: 'HOLDFAST_LOOP_BLOCKED',
    fallback: '2s',
    parse: toDurationWithin(1),
    help: 'How long an agent may block the event loop before the log names its run; 0 turns the watchdog thread off.',
  },
  'drain-timeout': {
    value: 'DURATION',
    env: 'HOLDFAST_DRAIN_TIMEOUT',
    fallback: `${defaultLimits.drainTimeoutMs / 1000}s`,
    parse: toDurationWithin(24),
    help: 'How long shutdown waits for running runs before it hands them over.',
  },
} as const satisfies OptionTable

/** Checked here, so that a mistake is found before anything is made on disk; a file is read when the server starts. */
function toSecretKeys(text: string): string {
  if (!text.startsWith('file:')) parseSecretKeys(text)
  return text
}

function toSharedKey(text: string): string {
  if (text.length < SECURITY_KEY_CHARS_MIN) throw new Error(`it ${tooShort}`)
  return toBearer(text)
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
