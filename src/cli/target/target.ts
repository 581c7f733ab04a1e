/** The target of a command: a server, or a store that no server uses. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type Client, createClient } from '../../client/index.ts'
import type { Component } from '../../core/ports/component.ts'
import { detailOf } from '../../core/model/errors.ts'
import type { RedactOptions } from '../../core/redaction/redaction.ts'
import { redactByName } from '../../core/redaction/redactions.ts'
import { configOptions, type StoreConfig } from '../../server/config/config-options.ts'
import { toProtocolPaths } from '../../server/protocols/protocol-paths.ts'
import { natsText } from '../../server/store/nats-address.ts'
import { withoutPassword } from '../../server/store/postgres-address.ts'
import { toText, toWebAddress } from '../../server/config/option-values.ts'
import type { Environment, OptionTable, OptionValues } from '../../server/config/options.ts'
import { onlyOwnRuns } from './own-runs.ts'

export const targetOptions = {
  url: {
    value: 'URL',
    env: 'HOLDFAST_URL',
    parse: toWebAddress,
    help: 'Server to use. Default: the server on this machine at port 7777 (HOLDFAST_PORT); if none is running, the store.',
  },
  key: {
    value: 'KEY',
    env: 'HOLDFAST_KEY',
    parse: toText,
    help: 'API key or token for the server.',
  },
  store: {
    value: 'STORE',
    parse: configOptions.store.parse,
    help: `Open this store instead of using a server: postgres://…, nats://…, or sqlite:PATH if no server uses it. Default: HOLDFAST_STORE, or ${configOptions.store.fallback}.`,
  },
} as const satisfies OptionTable

export type TargetValues = OptionValues<typeof targetOptions>

export interface Target {
  readonly client: Client
  readonly url: string
  readonly key: string | undefined
  /** The store was opened in this process, which alone executes runs. */
  readonly local: boolean
  /** Flags that select the same target in another command: ` --url http://…`, or empty. */
  readonly flags: string
  close(): Promise<void>
}

export interface OpenOptions {
  /** Components for runs executed in this process. Without them, a local store is read-only. */
  readonly components?: readonly Component[]
}

/** The error says where it looked and what to do. */
export async function openTarget(
  values: TargetValues,
  env: Environment,
  { components }: OpenOptions = {},
): Promise<Target> {
  const local = { components, redact: defaultRedact(env) }
  if (values.store !== undefined) return openLocal(values.store, ` --store ${storeText(values.store)}`, local)
  if (values.url !== undefined) {
    const problem = await problemOf(values.url)
    if (problem !== undefined) throw new Error(`${values.url} is not a reachable Holdfast server: ${problem}`)
    return atServer(values.url, values.key, env['HOLDFAST_URL'] === values.url ? '' : ` --url ${values.url}`)
  }
  const url = defaultUrl(env)
  if ((await problemOf(url)) === undefined) return atServer(url, values.key, '')
  return openLocal(defaultStore(env), '', local, url)
}

export function defaultUrl(env: Environment): string {
  const port = configOptions.port.parse(env['HOLDFAST_PORT'] ?? configOptions.port.fallback)
  const { HOLDFAST_BASE_PATH: basePath, HOLDFAST_PROTOCOLS: protocols } = env
  const native = protocols === undefined ? '' : toProtocolPaths(configOptions.protocols.parse(protocols)).get('native')
  return `http://127.0.0.1:${port}${configOptions['base-path'].parse(basePath ?? '')}${native ?? ''}`
}

export function defaultStore(env: Environment): StoreConfig {
  return configOptions.store.parse(env['HOLDFAST_STORE'] ?? configOptions.store.fallback)
}

/** A command that opens a store redacts like a server with the same environment. */
function defaultRedact(env: Environment): RedactOptions | undefined {
  const names = env['HOLDFAST_REDACT']
  return names === undefined ? undefined : redactByName(configOptions.redact.parse(names))
}

/** The store's address without secrets. */
export function storeText(store: StoreConfig): string {
  if (store.kind === 'postgres') return withoutPassword(store.url)
  if (store.kind === 'nats') return natsText(store)
  return store.kind === 'sqlite' ? `sqlite:${store.path}` : 'memory:'
}

const PROBE_MS = 3000

/** Why a server is not usable; undefined if it is. */
export async function problemOf(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/health`, { signal: AbortSignal.timeout(PROBE_MS) })
    const body = (await response.json()) as { store?: unknown; draining?: unknown } | null
    return body?.store === undefined || body.draining === undefined ? 'another program is listening there' : undefined
  } catch (cause) {
    if (cause instanceof SyntaxError) return 'another program is listening there'
    return detailOf((cause as { cause?: unknown } | null)?.cause ?? cause)
  }
}

function atServer(url: string, key: string | undefined, flags: string): Target {
  const client = createClient({ url, ...(key !== undefined && { key }) })
  return { client, url, key, local: false, flags, close: () => Promise.resolve() }
}

/** A private in-process server, so that commands use a store in the same way as a server. */
async function openLocal(
  config: StoreConfig,
  flags: string,
  {
    components,
    redact,
  }: { readonly components: readonly Component[] | undefined; readonly redact: RedactOptions | undefined },
  triedUrl?: string,
): Promise<Target> {
  const nobody = triedUrl === undefined ? '' : `no server is running at ${triedUrl}, and `
  if (config.kind === 'memory') throw new Error(`${nobody}a memory store exists only in its server: use --url`)
  if (config.kind === 'sqlite' && components === undefined && !existsSync(config.path)) {
    throw new Error(
      `${nobody}there is no store ${config.path}: start a server with  holdfast serve FILE,  or select one with --url or --store`,
    )
  }
  const [{ createServer }, { openStore }, { securityKeyAuthenticator }] = await Promise.all([
    import('../../server/create-server.ts'),
    import('../../server/store/open-store.ts'),
    import('../../server/auth/security-key.ts'),
  ])
  const since = Date.now()
  const opened = await openStore(config).catch((cause: unknown) => {
    throw new Error(`${nobody}${detailOf(cause)}; if a server uses it, select that server with --url`, { cause })
  })
  const key = randomBytes(32).toString('hex')
  // Without components it must not claim runs: they would fail.
  const limits = components === undefined ? { maxConcurrentRuns: 0, drainTimeoutMs: 0 } : { drainTimeoutMs: 0 }
  try {
    const store = components === undefined ? opened : onlyOwnRuns(opened, components, since)
    const server = await createServer({
      components: components ?? [],
      store,
      auth: securityKeyAuthenticator(key),
      limits,
      ...(redact !== undefined && { redact }),
    })
    const client = createClient({ url: server.url, key })
    return { client, url: server.url, key, local: true, flags, close: () => server.close() }
  } catch (cause) {
    await opened.close()
    throw cause
  }
}
