import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaultLimits } from '../../core/model/limits.ts'
import { redactions } from '../../core/redaction/redactions.ts'
import { configOptions, logLevels } from './config-options.ts'
import { isLoopback, readConfig } from './config.ts'
import { type NatsConfig, natsText } from '../store/nats-address.ts'
import { withoutPassword } from '../store/postgres-address.ts'
import { helpText, type Option } from './options.ts'

const usage = (argv: readonly string[], env: Readonly<Record<string, string>> = {}): string => {
  try {
    readConfig(argv, env)
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid_request|unsupported)$/) as string })
    return (error as Error).message
  }
  return 'no error'
}

describe('config:', () => {
  test('--redact accepts known names and rejects others', () => {
    const { redact } = readConfig(['--redact', 'api-keys, card-numbers'], {})
    expect(redact).toEqual({ patterns: [redactions.apiKeys, redactions.cardNumbers] })
    expect(readConfig([], { HOLDFAST_REDACT: 'emails' }).redact).toEqual({ patterns: [redactions.emails] })
    expect(readConfig([], { HOLDFAST_REDACT: 'exceptions' }).redact).toEqual({ patterns: [], exceptions: true })
    expect(usage(['--redact', 'api-keys,keys'])).toBe(
      '--redact: "keys" is not known: pass one of api-keys, tokens, card-numbers, emails, exceptions',
    )
  })

  test('--protocols has names, some of them with a path, and --base-path is a path', () => {
    const { protocols, basePath } = readConfig(['--protocols', 'native, openai=/openai/v1', '--base-path', '/api/'], {})
    expect([protocols, basePath]).toEqual([{ native: true, openai: '/openai/v1' }, '/api'])
    expect(usage(['--protocols', 'grpc'])).toContain('--protocols: protocols: "grpc" is unknown; use native')
    expect(usage(['--protocols', 'native,openai=/runs'])).toContain('openai at /runs collides with native')
    expect(usage(['--base-path', 'api'])).toContain('"api" is not a path such as /api/agents')
  })

  test('the default is local, on disk and without authentication', () => {
    expect(readConfig([], {})).toEqual({
      port: 7777,
      host: '127.0.0.1',
      store: { kind: 'sqlite', path: '.holdfast/holdfast.db' },
      lab: false,
      supervise: false,
      logLevel: 'info',
      auth: {},
      corsOrigins: [],
      trustProxy: [],
      model: {},
      a2a: {
        errorTable: '1.0.1',
        unversionedCard: 'both',
        deduplicateMessages: 'extension',
        push: { loopback: false },
      },
      streamWebhooks: { loopback: false },
      limits: {
        retainMs: defaultLimits.retainMs,
        retainRunsMs: defaultLimits.retainRunsMs,
        maxRetainedBytes: defaultLimits.maxRetainedBytes,
        maxConcurrentRuns: defaultLimits.maxConcurrentRuns,
        maxRunsPerPrincipal: defaultLimits.maxRunsPerPrincipal,
        maxStartsPerSecond: defaultLimits.maxStartsPerSecond,
        maxStartBurst: defaultLimits.maxStartBurst,
        maxRequestsPerSecond: defaultLimits.maxRequestsPerSecond,
        maxRequestBurst: defaultLimits.maxRequestBurst,
        maxRequestsPerSecondPerAddress: defaultLimits.maxRequestsPerSecondPerAddress,
        maxRequestBurstPerAddress: defaultLimits.maxRequestBurstPerAddress,
        maxStreamsPerPrincipal: defaultLimits.maxStreamsPerPrincipal,
        maxStoredBytesPerPrincipal: 0,
        maxDocumentsPerPrincipal: 0,
        maxQueuedRuns: defaultLimits.maxQueuedRuns,
        maxViewCacheBytes: defaultLimits.maxViewCacheBytes,
        maxActiveViewBytes: defaultLimits.maxActiveViewBytes,
        maxAttempts: defaultLimits.maxAttempts,
        eventLoopBlockedMs: 2000,
        heartbeatIntervalMs: defaultLimits.heartbeatIntervalMs,
        drainTimeoutMs: defaultLimits.drainTimeoutMs,
      },
      retention: { events: {}, runs: {} },
      positionals: [],
    })
  })

  test('a key that signs A2A cards requires the address that they name', () => {
    expect(usage(['--a2a-sign-key', 'card.pem'])).toBe(
      '--a2a-sign-key needs --a2a-url: the address that signed cards name',
    )
  })

  const everything = {
    port: '0',
    host: '0.0.0.0',
    store: 'sqlite:/data/runs.db',
    lab: 'true',
    supervise: 'true',
    'model-url': 'http://127.0.0.1:11434/v1',
    model: 'llama',
    'model-key': 'key',
    'log-level': 'warn',
    'auth-keys': 'keys.json',
    'security-key': 'a-shared-key-0123',
    'jwt-jwks': 'https://issuer.example/jwks.json',
    'jwt-issuer': 'https://issuer.example',
    'jwt-audience': 'holdfast',
    'jwt-principal-claim': 'email',
    'jwt-tenant-claim': 'org',
    'jwt-scopes-claim': 'permissions',
    'jwt-require-exp': 'false',
    'store-outage': '90s',
    'tls-cert': 'cert.pem',
    'tls-key': 'key.pem',
    'secret-key': 'file:secret.key',
    'audit-log': 'audit.jsonl',
    'cors-origins': 'https://app.example, http://localhost:3000/',
    'allowed-hosts': 'Agents.example, agents.internal',
    'trust-proxy': '10.0.0.0/8, loopback',
    'a2a-default': 'clerk',
    'a2a-url': 'https://agents.example',
    'a2a-errors': '1.0.0',
    'a2a-card': '1.0',
    'a2a-idempotent': 'never',
    'a2a-direct': 'clerk, parrot',
    'a2a-no-streaming': 'clerk',
    'a2a-sign-key': 'card.pem',
    'a2a-grpc-port': '7778',
    'a2a-push-loopback': 'true',
    'stream-webhook-loopback': 'true',
    retain: '30d,writer=7d,component:reader=0,tenant:acme=90d,principal:acme/anna=1d',
    'retain-runs': '60d',
    'retain-size': '10GB',
    'max-runs': '7',
    'max-runs-per-principal': '2',
    'max-starts-per-second': '3',
    'max-requests-per-second': '4',
    'max-requests-per-address': '6',
    'max-streams-per-principal': '5',
    'max-stored-per-principal': '5GB',
    'max-documents-per-principal': '1000',
    'max-queued': '9',
    'base-path': '/api/agents',
    protocols: 'native=/native,a2a',
    'view-cache': '64MiB',
    'max-attempts': '5',
    'loop-blocked': '500ms',
    heartbeat: '5s',
    'drain-timeout': '0',
  } as const
  const expected = {
    port: 0,
    host: '0.0.0.0',
    basePath: '/api/agents',
    protocols: { native: '/native', a2a: true },
    store: { kind: 'sqlite', path: '/data/runs.db' },
    lab: true,
    supervise: true,
    logLevel: 'warn',
    auth: {
      keys: 'keys.json',
      securityKey: 'a-shared-key-0123',
      jwt: {
        jwks: 'https://issuer.example/jwks.json',
        key: undefined,
        issuer: 'https://issuer.example',
        audience: 'holdfast',
        principalClaim: 'email',
        tenantClaim: 'org',
        scopesClaim: 'permissions',
        requireExpiry: false,
      },
    },
    secretKey: 'file:secret.key',
    auditLog: 'audit.jsonl',
    tls: { cert: 'cert.pem', key: 'key.pem' },
    corsOrigins: ['https://app.example', 'http://localhost:3000'],
    allowedHosts: ['agents.example', 'agents.internal'],
    trustProxy: ['10.0.0.0/8', 'loopback'],
    model: { url: 'http://127.0.0.1:11434/v1', name: 'llama', key: 'key' },
    a2a: {
      defaultComponent: 'clerk',
      url: 'https://agents.example',
      errorTable: '1.0.0',
      unversionedCard: '1.0',
      deduplicateMessages: 'never',
      agents: { clerk: { answersDirectly: true, streaming: false }, parrot: { answersDirectly: true } },
      push: { loopback: true },
      grpcPort: 7778,
      signKey: 'card.pem',
    },
    streamWebhooks: { loopback: true },
    limits: {
      retainMs: 2_592_000_000,
      retainRunsMs: 5_184_000_000,
      maxRetainedBytes: 10_000_000_000,
      maxConcurrentRuns: 7,
      maxRunsPerPrincipal: 2,
      maxStartsPerSecond: 3,
      maxStartBurst: 30,
      maxRequestsPerSecond: 4,
      maxRequestBurst: 20,
      maxRequestsPerSecondPerAddress: 6,
      maxRequestBurstPerAddress: 30,
      maxStreamsPerPrincipal: 5,
      maxStoredBytesPerPrincipal: 5_000_000_000,
      maxDocumentsPerPrincipal: 1000,
      maxQueuedRuns: 9,
      maxViewCacheBytes: 67_108_864,
      maxActiveViewBytes: 268_435_456,
      maxAttempts: 5,
      eventLoopBlockedMs: 500,
      heartbeatIntervalMs: 5000,
      drainTimeoutMs: 0,
    },
    retention: {
      events: {
        components: { writer: 604_800_000, reader: 0 },
        tenants: { acme: 7_776_000_000 },
        principals: { 'acme/anna': 86_400_000 },
      },
      runs: {},
    },
  }

  test('every option can be a flag', () => {
    const argv = Object.entries(everything).map(([name, value]) => `--${name}=${value}`)
    expect(readConfig(['agents.ts', ...argv], {})).toEqual({ ...expected, positionals: ['agents.ts'] })
  })

  test('every option can come from the environment', () => {
    const env = Object.fromEntries(
      Object.entries(everything).map(([name, value]) => [configOptions[name as keyof typeof everything].env, value]),
    )
    expect(readConfig([], env)).toEqual({ ...expected, positionals: [] })
  })

  test('flags override the environment, which is then not parsed', () => {
    const env = { HOLDFAST_PORT: 'nonsense', HOLDFAST_LAB: '1', HOLDFAST_HOST: '0.0.0.0' }
    expect(readConfig(['--port', '80', '--no-lab', '--host', '127.0.0.1'], env)).toMatchObject({ port: 80, lab: false })
  })

  test('the security key can have AgentOS’s variable name; ours takes precedence', () => {
    const [theirs, ours, given] = ['theirs', 'ours', 'given'].map((name) => `${name}-0123456789abcdef`)
    expect(readConfig([], { OS_SECURITY_KEY: theirs }).auth).toEqual({ securityKey: theirs })
    const both = { OS_SECURITY_KEY: theirs, HOLDFAST_SECURITY_KEY: ours }
    expect(readConfig([], both).auth).toEqual({ securityKey: ours })
    expect(readConfig(['--security-key', given!, '--host', '0.0.0.0'], both).auth).toEqual({ securityKey: given })
  })

  test('arguments that are not flags are kept in order, and so is everything after --', () => {
    expect(readConfig(['a.ts', '--lab', 'b.ts', '--', '--port'], {}).positionals).toEqual(['a.ts', 'b.ts', '--port'])
  })

  test('the last of a repeated flag counts', () => {
    expect(readConfig(['--port', '1', '--port', '2'], {}).port).toBe(2)
  })

  test('each variable is named after its flag', () => {
    for (const [name, { env }] of Object.entries(configOptions)) {
      expect(env).toBe(`HOLDFAST_${name.replaceAll('-', '_').toUpperCase()}`)
    }
  })
})

describe('config: an error has what happened, which value and what to do next', () => {
  test.each<[string[], RegExp]>([
    [['--prot', '80'], /^unknown flag --prot: did you mean --port\?$/],
    [['--no-port'], /^unknown flag --no-port/],
    [['-p', '80'], /^unknown flag -p: --help lists all/],
    [['--__proto__'], /^unknown flag --__proto__: --help/],
    [['--constructor', 'x'], /^unknown flag --constructor/],
    [['--verbose'], /^unknown flag --verbose: --help lists all/],
    [['--port'], /^--port needs a value: --port PORT$/],
    [['--port', '--lab'], /^--port needs a value/],
    [['--port='], /^--port is empty: set a value/],
    [['--port', 'http'], /^--port: "http" is not a port: pass a number from 0 to 65535$/],
    [['--port', '65536'], /not a port/],
    [['--port', '8e1'], /not a port/],
    [['--port=-1'], /not a port/],
    [['--lab=perhaps'], /^--lab: "perhaps" is not a switch: pass true or false$/],
    [['--log-level', 'loud'], /one of trace, debug, info/],
    [['--host', '0.0.0.0:80'], /without a port/],
    [['--cors-origins', '*'], /^--cors-origins: "\*" is not an origin/],
    [['--cors-origins', 'https://app.example/page'], /no paths/],
    [['--security-key', 'two words that are long'], /^--security-key: not a valid bearer token/],
    [['--tls-cert', 'a.pem'], /^--tls-cert needs --tls-key/],
    [['--tls-key', 'a.pem'], /^--tls-key needs --tls-cert/],
    [['--security-key', 'fifteen-letters'], /^--security-key: the shared key is shorter than 16 characters/],
    [['--max-runs', '-1'], /whole number from 0|needs a value/],
    [['--max-runs', '1.5'], /whole number/],
    [['--drain-timeout', '10'], /not a duration/],
    [['--heartbeat', '500ms'], /at least 1s/],
    [['--heartbeat', '11m'], /at most 10m/],
    [['--drain-timeout', '25h'], /at most 24h/],
    [['--retain', '30'], /^--retain: "30" is not a duration: pass a value such as 30d/],
    [['--retain', '30 years'], /not a duration/],
    [['--retain', 'writer=30'], /"30" is not a duration/],
    [['--retain', '30d,7d'], /"7d" is a second default/],
    [['--retain', 'tenant:=7d'], /has no name/],
    [['--retain-runs', 'writer=7d,component:writer=8d'], /component "writer" has two periods/],
    [['--retain', '99999999999999999d'], /not a duration/],
    [['--retain-size', '10'], /^--retain-size: "10" is not a size/],
    [['--retain-size', '1constructor'], /not a size/],
    [
      ['--store', 'runs.db'],
      /^--store: "runs.db" is not a store: use sqlite:PATH, postgres:\/\/…, nats:\/\/… or memory:$/,
    ],
    [['--store', 'sqlite:'], /use sqlite:PATH, postgres:\/\/…, nats:\/\/… or memory:/],
    [['--store', 'sqlite::memory:'], /use sqlite:PATH, postgres:\/\/…, nats:\/\/… or memory:/],
    [['--store', 'memory'], /use sqlite:PATH, postgres:\/\/…, nats:\/\/… or memory:/],
  ])('%j', (argv, message) => {
    expect(usage(argv)).toMatch(message)
  })

  test('a store that does not exist yet lists what exists, and hides the password', () => {
    for (const scheme of ['mysql', 'redis']) {
      expect(() => readConfig(['--store', `${scheme}://user:hunter2@db/runs`], {})).toThrow(
        expect.objectContaining({
          code: 'unsupported',
          message: '--store: unsupported in this version: use sqlite:PATH, postgres://…, nats://… or memory:',
        }) as Error,
      )
    }
  })

  test('a PostgreSQL store separates its own parameters from those of the connection', () => {
    const store = (text: string): unknown => readConfig(['--store', text], {}).store
    const url = 'postgres://user:hunter2@db:6432/runs?sslmode=require'
    const outageTimeoutMs = 60_000
    expect(store(url)).toEqual({ kind: 'postgres', url, outageTimeoutMs })
    expect(readConfig(['--store', url, '--store-outage', '2m'], {}).store).toMatchObject({
      outageTimeoutMs: 120_000,
    })
    expect(withoutPassword(url)).toBe('postgres://user@db:6432/runs')
    expect(store(`${url}&schema=team_a&connections=20&direct=primary:5432`)).toEqual({
      kind: 'postgres',
      url,
      schema: 'team_a',
      connections: 20,
      directUrl: 'postgres://user:hunter2@primary:5432/runs?sslmode=require',
      outageTimeoutMs,
    })
    for (const mistake of ['connections=0', 'connections=many', 'direct=', 'direct=a/b', 'direct=postgres://db']) {
      const message = usage(['--store', `${url}&${mistake}`])
      expect(message).toContain(mistake.split('=')[0]!)
      expect(message).not.toContain('hunter2')
    }
  })

  test('a NATS store has servers, credentials and stream options', () => {
    const store = (text: string): unknown => readConfig(['--store', text], {}).store
    const outageTimeoutMs = 60_000
    expect(store('nats://n1')).toEqual({ kind: 'nats', servers: ['n1:4222'], outageTimeoutMs })
    const full =
      'tls://user:hunt%3Aer2@n1:4222,n2:4223,[::1]/?name=team-a&replicas=3&partitions=8&cluster=east&tags=ssd,rack:1'
    expect(store(full)).toEqual({
      kind: 'nats',
      servers: ['n1:4222', 'n2:4223', '[::1]:4222'],
      tls: true,
      user: 'user',
      password: 'hunt:er2',
      name: 'team-a',
      replicas: 3,
      partitions: 8,
      cluster: 'east',
      tags: ['ssd', 'rack:1'],
      outageTimeoutMs,
    })
    expect(natsText(store(full) as NatsConfig)).toBe('tls://n1:4222,n2:4223,[::1]:4222?name=team-a')
    expect(store('nats://token@n1')).toEqual({ kind: 'nats', servers: ['n1:4222'], token: 'token', outageTimeoutMs })
    expect(store('nats://n1?sync=always&monitor=http://n1:8222')).toMatchObject({ sync: 'always' })
    const mistakes = [
      'replicas=0',
      'replicas=6',
      'partitions=many',
      'sync=often',
      'sync=always',
      'monitor=n1',
      'replica=3',
    ]
    for (const mistake of mistakes) {
      const message = usage(['--store', `nats://user:hunter2@n1?${mistake}`])
      expect(message).toContain(mistake.split('=')[0]!)
      expect(message).not.toContain('hunter2')
    }
    for (const address of ['nats://', 'nats://a b', 'nats://a:b', 'nats://a,', 'nats://u:hunter2@a@b'])
      expect(usage(['--store', address])).toMatch(/^--store: not an address: use nats:/)
  })

  test('an error in the environment names the variable', () => {
    expect(usage([], { HOLDFAST_PORT: 'x' })).toMatch(/^HOLDFAST_PORT: "x" is not a port/)
    expect(usage([], { HOLDFAST_PORT: 'tcp://10.0.0.1:7777' })).toContain('enableServiceLinks: false')
  })

  test('an empty or mistyped variable does not silently turn authentication off', () => {
    expect(usage([], { HOLDFAST_AUTH_KEYS: '' })).toMatch(/^HOLDFAST_AUTH_KEYS is empty/)
    expect(usage([], { HOLDFAST_AUTHKEYS: 'keys.json' })).toBe(
      'unknown variable HOLDFAST_AUTHKEYS: did you mean HOLDFAST_AUTH_KEYS?',
    )
  })

  test('variables of other programs are ignored', () => {
    const env = {
      HOLDFAST_SERVICE_HOST: '10.0.0.1',
      HOLDFAST_PORT_7777_TCP: 'x',
      HOLDFAST: '1',
      PORT: '80',
      AUTH_KEYS: '',
    }
    expect(readConfig([], env)).toEqual(readConfig([], {}))
  })

  test('any arguments are a configuration or a usage error, never another failure', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom('--', '-', '---', '--=', '--lab', '--no-lab', '--port', '0', '--no-', '--host', '::1', '--store'),
      fc.constantFrom(...Object.keys(configOptions)).map((name) => `--${name}=x`),
    )
    fc.assert(fc.property(fc.array(word, { maxLength: 6 }), (argv) => void usage(argv)))
  })
})

describe('config: an address that other machines can reach', () => {
  const addresses = [
    '0.0.0.0',
    '::',
    '[::]',
    '192.168.1.7',
    '::ffff:10.0.0.1',
    'example.com',
    '127.0.0.1.example.com',
    'fe80::1%eth0',
  ]

  test.each(addresses)('%s requires authentication or an explicit flag', (host) => {
    expect(usage(['--host', host])).toMatch(/^--host \S+ can be reached by other machines .*--insecure-no-auth/)
    for (const argv of [
      ['--insecure-no-auth'],
      ['--auth-keys', 'keys.json'],
      ['--jwt-jwks', 'https://x/jwks'],
      ['--jwt-key', 'key.pem'],
    ]) {
      expect(readConfig(['--host', host, ...argv], {}).host).toBe(host.replace(/[[\]]/g, ''))
    }
  })

  test.each([
    '127.0.0.1',
    '127.8.9.10',
    '::1',
    '[::1]',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    'localhost',
    'LOCALHOST',
  ])('is not %s', (host) => {
    expect(isLoopback(readConfig(['--host', host], {}).host)).toBe(true)
  })
})

describe('config: authentication', () => {
  test('accepts the text of a key that starts like a flag', () => {
    const key = '-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----'
    expect(readConfig(['--jwt-key', key], {}).auth.jwt?.key).toBe(key)
  })

  test('rejects --insecure-no-auth together with a key file', () => {
    expect(usage(['--insecure-no-auth', '--auth-keys', 'k'])).toMatch(/cannot be combined/)
  })

  test('rejects a key set and a key together', () => {
    expect(usage(['--jwt-jwks', 'https://x', '--jwt-key', 'k'])).toMatch(/use one of them/)
  })

  test.each(['jwt-issuer', 'jwt-audience', 'jwt-principal-claim', 'jwt-tenant-claim'])(
    'rejects --%s alone, which would check nothing',
    (name) => {
      expect(usage([`--${name}`, 'x'])).toBe(
        `--${name} needs --jwt-jwks or --jwt-key: without them no token is checked`,
      )
    },
  )
})

test.each<[string, number]>([
  ['0', 0],
  ['500ms', 500],
  ['90s', 90_000],
  ['1.5h', 5_400_000],
  ['2 D', 172_800_000],
])('config: the duration %s is %d milliseconds', (text, ms) => {
  expect(readConfig(['--retain', text], {}).limits.retainMs).toBe(ms)
})

test.each<[string, number]>([
  ['0', 0],
  ['4096B', 4096],
  ['10gb', 10_000_000_000],
  ['1.5KiB', 1536],
  ['2TiB', 2 ** 41],
])('config: the size %s is %d bytes', (text, bytes) => {
  expect(readConfig(['--retain-size', text], {}).limits.maxRetainedBytes).toBe(bytes)
})

test('config: every log level is accepted', () => {
  for (const level of logLevels) expect(readConfig(['--log-level', level], {}).logLevel).toBe(level)
})

describe('config: the table of options', () => {
  const table: Readonly<Record<string, Option>> = configOptions

  test('config: the help lists every option of the table', () => {
    const help = helpText(configOptions)
    const port = 'Port to listen on. 0 selects a free port. Default: 7777. [HOLDFAST_PORT]'
    expect(help).toContain(`  --port PORT\n      ${port}\n`)
    expect(help.match(/^ {2}--\S+/gm)).toEqual(Object.keys(table).map((name) => `  --${name}`))
  })

  test('has every option that docs/config.md mentions', async () => {
    const page = await readFile(new URL('../../../docs/config.md', import.meta.url), 'utf8')
    const flags = page.match(/(?<![\w-])--[a-z][a-z0-9-]*/g) ?? []
    const ofOtherCommands = [
      'principal',
      'tenant',
      'scopes',
      'expires',
      'json',
      'can',
      'list',
      'revoke',
      'no-jwt-require-exp',
    ]
    expect(new Set(flags)).toEqual(new Set([...Object.keys(table), ...ofOtherCommands].map((name) => `--${name}`)))
    const variables = page.match(/HOLDFAST_[A-Z0-9_]*[A-Z]/g) ?? []
    expect(new Set(variables)).toEqual(new Set(Object.values(table).map(({ env }) => env)))
  })
})
