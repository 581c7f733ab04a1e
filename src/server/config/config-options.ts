/** The server's flags and environment variables: the table from which help and docs are generated. */
import { DEFAULT_STORE } from '../store/default-store.ts'
import { isIP } from 'node:net'
import { defaultLimits } from '../../core/model/limits.ts'
import { redactionNames } from '../../core/redaction/redactions.ts'
import { toBasePath } from '../../http/routing/base-path.ts'
import { SECURITY_KEY_CHARS_MIN, tooShort } from '../auth/index.ts'
import {
  toBearer,
  toChoice,
  toChoices,
  toCount,
  toDuration,
  toDurationWithin,
  toHeartbeat,
  toHostNames,
  toList,
  toOrigins,
  toPort,
  toProxies,
  toSize,
  toSwitch,
  toText,
  toWebAddress,
} from './option-values.ts'
import type { OptionTable } from './options.ts'
import { protocolNames, toProtocolChoice } from '../protocols/protocol-paths.ts'
import { toRetention } from '../retention/periods-text.ts'
import { parseSecretKeys } from '../secrets/secret-keys.ts'
import { toStore } from '../store/store-address.ts'

export type { StoreConfig } from '../store/store-address.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** In the order of the help and of docs/config.md; a test compares the tables. */
export const configOptions = {
  port: {
    value: 'PORT',
    env: 'HOLDFAST_PORT',
    fallback: '7777',
    parse: toPort,
    help: 'Port to listen on. 0 selects a free port.',
  },
  host: {
    value: 'ADDRESS',
    env: 'HOLDFAST_HOST',
    fallback: '127.0.0.1',
    parse: toHost,
    help: 'Address to listen on. An address that other machines can reach requires authentication.',
  },
  'base-path': {
    value: 'PATH',
    env: 'HOLDFAST_BASE_PATH',
    parse: toBasePath,
    help: 'Serve everything below this path: /api/agents. Default: the root.',
  },
  protocols: {
    value: 'NAMES',
    env: 'HOLDFAST_PROTOCOLS',
    parse: toProtocolChoice,
    help: `Protocols to serve, separated by commas, optionally with a path: native,openai=/openai/v1. Known: ${protocolNames.join(', ')}. Default: all.`,
  },
  store: {
    value: 'STORE',
    env: 'HOLDFAST_STORE',
    fallback: DEFAULT_STORE,
    parse: toStore,
    help: 'Store for runs: sqlite:PATH for one node, postgres://… or nats://… for many, or memory: for runs that end with the process.',
  },
  'store-outage': {
    value: 'DURATION',
    env: 'HOLDFAST_STORE_OUTAGE',
    fallback: '60s',
    parse: toDuration,
    help: 'How long a run waits while a postgres:// or nats:// store is unreachable. After that, the run is interrupted and recovered.',
  },
  'env-file': {
    value: 'PATH',
    env: 'HOLDFAST_ENV_FILE',
    repeats: true,
    parse: toText,
    help: 'Read environment variables from this file. Repeatable. Variables that are already set take precedence. Default: .env for holdfast dev, none for others.',
  },
  lab: {
    env: 'HOLDFAST_LAB',
    fallback: 'false',
    parse: toSwitch,
    help: 'Also serve the lab agent, a test agent that executes the script in its input.',
  },
  supervise: {
    env: 'HOLDFAST_SUPERVISE',
    fallback: 'false',
    parse: toSwitch,
    help: 'Run the server as a child process, and restart it when it dies.',
  },
  'model-url': {
    value: 'URL',
    env: 'HOLDFAST_MODEL_URL',
    parse: toWebAddress,
    help: 'Demo only: use the models of this OpenAI-compatible API. Default: scripted models.',
  },
  model: {
    value: 'NAME',
    env: 'HOLDFAST_MODEL',
    parse: toText,
    help: 'Demo only: model to use, at --model-url or with OPENAI_API_KEY or ANTHROPIC_API_KEY. Default: the first model of --model-url, gpt-5.4-mini or claude-haiku-4-5.',
  },
  'model-key': {
    value: 'KEY',
    env: 'HOLDFAST_MODEL_KEY',
    parse: toText,
    help: 'Demo only: API key for --model-url. Default: none.',
  },
  'log-level': {
    value: 'LEVEL',
    env: 'HOLDFAST_LOG_LEVEL',
    fallback: 'info',
    parse: toChoice(logLevels),
    help: `Minimum level of log lines: ${logLevels.join(', ')}.`,
  },
  auth: {
    value: 'MODE',
    env: 'HOLDFAST_AUTH',
    parse: toChoice(['passthrough'] as const),
    help: "passthrough: accept any bearer credential and forward it to upstreams without a configured key; the upstream verifies it. Runs belong to the token's principal (with --jwt-jwks or --jwt-key) or to a hash of the credential. Default: only the credentials configured below are accepted.",
  },
  'auth-keys': {
    value: 'PATH',
    env: 'HOLDFAST_AUTH_KEYS',
    parse: toText,
    help: 'Require an API key from this file. Create and revoke keys with holdfast keys. Default: no API keys.',
  },
  'security-key': {
    value: 'KEY',
    env: 'HOLDFAST_SECURITY_KEY',
    alias: 'OS_SECURITY_KEY',
    parse: toSharedKey,
    help: 'Require this key as a bearer token. Whoever sends it acts as the principal local. At least 16 characters. OS_SECURITY_KEY sets it too. Default: none.',
  },
  'jwt-jwks': {
    value: 'URL',
    env: 'HOLDFAST_JWT_JWKS',
    parse: toText,
    help: 'Accept tokens signed by a key of this JSON Web Key Set: an http(s) URL or a path. Default: no tokens.',
  },
  'jwt-key': {
    value: 'KEY',
    env: 'HOLDFAST_JWT_KEY',
    parse: toText,
    help: 'Accept tokens signed with this key: PEM or JWK, as text or path, secret:TEXT or secret-file:PATH. Default: no tokens.',
  },
  'jwt-issuer': {
    value: 'ISSUER',
    env: 'HOLDFAST_JWT_ISSUER',
    parse: toText,
    help: 'Reject tokens from any other issuer. Default: any issuer.',
  },
  'jwt-audience': {
    value: 'AUDIENCE',
    env: 'HOLDFAST_JWT_AUDIENCE',
    parse: toText,
    help: 'Reject tokens for any other audience. Default: any audience.',
  },
  'jwt-principal-claim': {
    value: 'CLAIM',
    env: 'HOLDFAST_JWT_PRINCIPAL_CLAIM',
    parse: toText,
    help: 'Claim that names the principal. Default: sub.',
  },
  'jwt-tenant-claim': {
    value: 'CLAIM',
    env: 'HOLDFAST_JWT_TENANT_CLAIM',
    parse: toText,
    help: 'Claim that names the tenant. Tokens without it are rejected. Default: no tenants.',
  },
  'jwt-scopes-claim': {
    value: 'CLAIM',
    env: 'HOLDFAST_JWT_SCOPES_CLAIM',
    parse: toText,
    help: 'Claim that lists the scopes of a token. A token without it may do everything. Default: scopes.',
  },
  'jwt-require-exp': {
    env: 'HOLDFAST_JWT_REQUIRE_EXP',
    fallback: 'true',
    parse: toSwitch,
    help: 'Reject tokens that never expire.',
  },
  'tls-cert': {
    value: 'PATH',
    env: 'HOLDFAST_TLS_CERT',
    parse: toText,
    help: 'Serve HTTPS, and gRPC over TLS, with the certificate in this PEM file. The file is reloaded when it changes. Default: HTTP.',
  },
  'tls-key': {
    value: 'PATH',
    env: 'HOLDFAST_TLS_KEY',
    parse: toText,
    help: 'Private key for --tls-cert, in PEM. Default: none.',
  },
  'secret-key': {
    value: 'KEYS',
    env: 'HOLDFAST_SECRET_KEY',
    parse: toSecretKeys,
    help: 'Keys that encrypt stored credentials: 32 bytes each in hex or base64, separated by commas, or file:PATH. The first encrypts, all decrypt. Default: the file STORE.key, created on first start, for sqlite; none for other stores.',
  },
  'audit-log': {
    value: 'PATH',
    env: 'HOLDFAST_AUDIT_LOG',
    parse: toText,
    help: 'Also append the audit log to this file, one JSON object per line. Default: only the server log.',
  },
  redact: {
    value: 'NAMES',
    env: 'HOLDFAST_REDACT',
    parse: toChoices(redactionNames),
    help: `Redact these from everything that is written to a run's log, separated by commas: ${redactionNames.join(', ')}. Default: nothing.`,
  },
  'cors-origins': {
    value: 'ORIGINS',
    env: 'HOLDFAST_CORS_ORIGINS',
    parse: toOrigins,
    help: 'Allow browser pages from these origins, separated by commas: https://app.example,http://localhost:3000. Default: none.',
  },
  'allowed-hosts': {
    value: 'HOSTS',
    env: 'HOLDFAST_ALLOWED_HOSTS',
    parse: toHostNames,
    help: 'Also accept requests for these host names, separated by commas: agents.example. Default: any name if authentication is required; otherwise loopback names, and IP addresses if other machines can connect.',
  },
  'trust-proxy': {
    value: 'ADDRESSES',
    env: 'HOLDFAST_TRUST_PROXY',
    parse: toProxies,
    help: 'Trust X-Forwarded-For, -Proto, -Host and -Prefix from these proxies: addresses, networks such as 10.0.0.0/8, loopback or private. Default: none.',
  },
  'insecure-no-auth': {
    env: 'HOLDFAST_INSECURE_NO_AUTH',
    fallback: 'false',
    parse: toSwitch,
    help: 'Listen on an address that is not loopback without authentication. Everyone who can reach it may do everything.',
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
    help: 'Public address of the server in A2A cards. Default: the address that the client used.',
  },
  'a2a-errors': {
    value: 'TABLE',
    env: 'HOLDFAST_A2A_ERRORS',
    fallback: '1.0.1',
    parse: toChoice(['1.0.1', '1.0.0']),
    help: 'Version of the A2A specification that maps errors to statuses: 1.0.1 or 1.0.0.',
  },
  'a2a-card': {
    value: 'FORM',
    env: 'HOLDFAST_A2A_CARD',
    fallback: 'both',
    parse: toChoice(['both', '1.0']),
    help: 'A2A card for clients that send no version: both (readable by 0.3 and 1.0) or 1.0.',
  },
  'a2a-idempotent': {
    value: 'WHEN',
    env: 'HOLDFAST_A2A_IDEMPOTENT',
    fallback: 'extension',
    parse: toChoice(['extension', 'always', 'never']),
    help: 'When A2A messages are deduplicated by messageId: extension (for clients that activate the resume extension), always or never.',
  },
  'a2a-direct': {
    value: 'COMPONENTS',
    env: 'HOLDFAST_A2A_DIRECT',
    parse: toList,
    help: 'Components that may reply to A2A with a message instead of a task, separated by commas. Default: none.',
  },
  'a2a-no-streaming': {
    value: 'COMPONENTS',
    env: 'HOLDFAST_A2A_NO_STREAMING',
    parse: toList,
    help: 'Components whose A2A cards declare no streaming, separated by commas. Default: none.',
  },
  'a2a-sign-key': {
    value: 'PATH',
    env: 'HOLDFAST_A2A_SIGN_KEY',
    parse: toText,
    help: 'Sign A2A cards and push notifications with the private key in this file, PEM or JWK. Requires --a2a-url. Default: no signatures.',
  },
  'a2a-grpc-port': {
    value: 'PORT',
    env: 'HOLDFAST_A2A_GRPC_PORT',
    parse: toCount(0, 65_535),
    help: 'Port for A2A over gRPC. 0 selects a free port. Default: no gRPC.',
  },
  'a2a-push-loopback': {
    env: 'HOLDFAST_A2A_PUSH_LOOPBACK',
    fallback: 'false',
    parse: toSwitch,
    help: 'Allow A2A push notifications to loopback addresses, for tests. Otherwise only public addresses are allowed.',
  },
  'stream-webhook-loopback': {
    env: 'HOLDFAST_STREAM_WEBHOOK_LOOPBACK',
    fallback: 'false',
    parse: toSwitch,
    help: 'Allow webhooks of Durable Streams subscriptions to loopback addresses, for development. Otherwise only public addresses are allowed.',
  },
  retain: {
    value: 'DURATION',
    env: 'HOLDFAST_RETAIN',
    fallback: String(defaultLimits.retainMs),
    parse: toRetention,
    help: 'Trim the events of runs that finished longer ago than this, such as 30d or 30d,writer=7d,tenant:acme=90d. 0 keeps them forever.',
  },
  'retain-runs': {
    value: 'DURATION',
    env: 'HOLDFAST_RETAIN_RUNS',
    fallback: String(defaultLimits.retainRunsMs),
    parse: toRetention,
    help: 'Remove runs that finished longer ago than this, with their idempotency keys, and sessions that were idle for as long. Same format as --retain. 0 keeps them forever.',
  },
  'retain-size': {
    value: 'SIZE',
    env: 'HOLDFAST_RETAIN_SIZE',
    fallback: String(defaultLimits.maxRetainedBytes),
    parse: toSize,
    help: 'Maximum size of the store, such as 10GB. Above it, the oldest runs of the principals that store most are trimmed first. 0 means no limit.',
  },
  'max-runs': {
    value: 'N',
    env: 'HOLDFAST_MAX_RUNS',
    fallback: String(defaultLimits.maxConcurrentRuns),
    parse: toCount(0, 1_000_000),
    help: 'Worker slots: maximum runs that this node executes at once. Further runs are queued. 0 leaves all runs to the workers of a shared store.',
  },
  'max-runs-per-principal': {
    value: 'N',
    env: 'HOLDFAST_MAX_RUNS_PER_PRINCIPAL',
    fallback: String(defaultLimits.maxRunsPerPrincipal),
    parse: toCount(0, 1_000_000),
    help: 'Maximum runs of one principal that this node executes at once. Further runs are queued. 0 means half of --max-runs.',
  },
  'max-starts-per-second': {
    value: 'N',
    env: 'HOLDFAST_MAX_STARTS_PER_SECOND',
    fallback: String(defaultLimits.maxStartsPerSecond),
    parse: toCount(0, 1_000_000),
    help: 'Maximum starts per second and principal on this node, with a burst of ten seconds. Further starts get 429. 0 means no limit.',
  },
  'max-requests-per-second': {
    value: 'N',
    env: 'HOLDFAST_MAX_REQUESTS_PER_SECOND',
    fallback: String(defaultLimits.maxRequestsPerSecond),
    parse: toCount(0, 1_000_000),
    help: 'Maximum requests per second and principal on this node, with a burst of five seconds. Further requests get 429. 0 means no limit.',
  },
  'max-requests-per-address': {
    value: 'N',
    env: 'HOLDFAST_MAX_REQUESTS_PER_ADDRESS',
    fallback: String(defaultLimits.maxRequestsPerAddress),
    parse: toCount(0, 1_000_000),
    help: 'Maximum unauthenticated requests per second from one client address, per node, with a burst of five seconds. Further requests get 429. 0 means no limit.',
  },
  'max-streams-per-principal': {
    value: 'N',
    env: 'HOLDFAST_MAX_STREAMS_PER_PRINCIPAL',
    fallback: String(defaultLimits.maxStreamsPerPrincipal),
    parse: toCount(1, 1_000_000),
    help: 'Maximum open event streams per principal on this node. Further streams get 429.',
  },
  'max-stored-per-principal': {
    value: 'SIZE',
    env: 'HOLDFAST_MAX_STORED_PER_PRINCIPAL',
    fallback: String(defaultLimits.maxStoredBytesPerPrincipal),
    parse: toSize,
    help: 'Maximum size of the logs and documents of one principal, such as 5GB. Further starts and writes get 507. 0 means no limit.',
  },
  'max-documents-per-principal': {
    value: 'N',
    env: 'HOLDFAST_MAX_DOCUMENTS_PER_PRINCIPAL',
    fallback: String(defaultLimits.maxDocumentsPerPrincipal),
    parse: toCount(0, 1_000_000_000),
    help: 'Maximum documents per principal, including sessions. Further writes get 507. 0 means no limit.',
  },
  'max-queued': {
    value: 'N',
    env: 'HOLDFAST_MAX_QUEUED',
    fallback: String(defaultLimits.maxQueuedRuns),
    parse: toCount(0, 10_000_000),
    help: 'Maximum queued runs. Further starts get 429. A principal is also refused if it has as many queued runs as the queue has free positions: one principal can fill at most half of the queue, and a new one always finds a position.',
  },
  'view-cache': {
    value: 'SIZE',
    env: 'HOLDFAST_VIEW_CACHE',
    fallback: `${defaultLimits.maxViewCacheBytes / 2 ** 20}MiB`,
    parse: toSize,
    help: 'Memory for the view cache, which all protocols except native share. LRU: an evicted view is rebuilt from the log. 0 disables the cache. Open streams may use four times as much in addition, at least 128 MiB.',
  },
  'max-attempts': {
    value: 'N',
    env: 'HOLDFAST_MAX_ATTEMPTS',
    fallback: String(defaultLimits.maxAttempts),
    parse: toCount(1, 1000),
    help: 'Consecutive interruptions without progress after which a run fails.',
  },
  'loop-blocked': {
    value: 'DURATION',
    env: 'HOLDFAST_LOOP_BLOCKED',
    fallback: '2s',
    parse: toDurationWithin(1),
    help: 'Block duration after which the server logs which run blocks the event loop. 0 disables the watchdog thread.',
  },
  heartbeat: {
    value: 'DURATION',
    env: 'HOLDFAST_HEARTBEAT',
    fallback: `${defaultLimits.heartbeatIntervalMs / 1000}s`,
    parse: toHeartbeat,
    help: 'Heartbeat interval of idle streams, 1s to 10m. Set it below the idle timeout of your proxies.',
  },
  'drain-timeout': {
    value: 'DURATION',
    env: 'HOLDFAST_DRAIN_TIMEOUT',
    fallback: `${defaultLimits.drainTimeoutMs / 1000}s`,
    parse: toDurationWithin(24),
    help: 'How long shutdown waits for running runs before it hands them over.',
  },
} as const satisfies OptionTable

/** Validates early, before anything is written to disk. A key file is read when the server starts. */
function toSecretKeys(text: string): string {
  if (!text.startsWith('file:')) parseSecretKeys(text)
  return text
}

function toSharedKey(text: string): string {
  if (text.length < SECURITY_KEY_CHARS_MIN) throw new Error(`the shared key ${tooShort}`)
  return toBearer(text)
}

/** Accepts IPv6 addresses in brackets, as in a URL. */
function toHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0 || /^[a-z0-9][a-z0-9.-]*$/i.test(host)) return host
  throw new Error(`${JSON.stringify(text)} is not an address: pass an IP address or a host name, without a port`)
}
