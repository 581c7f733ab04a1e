/** Runs a server as the process: prints its address, and drains on SIGTERM or SIGINT. */
import * as module from 'node:module'
import { componentsIn, type ComponentOrSource, sourcesIn } from '../../core/ports/component-source.ts'
import { Registry } from '../../core/registry.ts'
import type { Store } from '../../core/ports/store.ts'
import { AuditFile } from '../../server/audit-sinks.ts'
import { openAuthenticator } from '../../server/auth/index.ts'
import type { StoreConfig } from '../../server/config/config-options.ts'
import { configWarnings } from '../../server/config/config-warnings.ts'
import type { Config } from '../../server/config/config.ts'
import { createServer, type Server, type ServerOptions } from '../../server/create-server.ts'
import { openA2a } from '../../server/protocols/open-a2a.ts'
import { openStore } from '../../server/store/open-store.ts'
import { natsText } from '../../server/store/nats-address.ts'
import { toProtocolPaths } from '../../server/protocols/protocol-paths.ts'
import { withoutPassword } from '../../server/store/postgres-address.ts'
import { openSecretKeys } from '../../server/secrets/secret-keys.ts'
import { DONE } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { lazyLogger } from '../logging/lazy-logger.ts'
import { surviveUncaughtErrors } from './uncaught-errors.ts'
import { boundYoungGeneration } from './young-generation.ts'

/** Serves until SIGTERM or SIGINT; resolves with the exit code. */
export async function hostServer(
  config: Config & Pick<ServerOptions, 'corsLoopback'>,
  components: readonly ComponentOrSource[],
  io: CommandIo,
  nextSteps: (urls: ProtocolUrls, server: Server) => string,
  opening?: Promise<Store>,
): Promise<number> {
  const ending = nextSignal()
  boundYoungGeneration()
  const registered = new Registry(componentsIn(components)) // validate before writing to disk
  // Early, so that a missing key file is reported before the store is opened. Passthrough needs the store.
  const auth = config.auth.passthrough === true ? config.auth : await openAuthenticator(config.auth)
  // The components of sources are not known yet.
  const a2a = await openA2a(config.a2a, sourcesIn(components).length > 0 ? undefined : registered)
  const logger = lazyLogger(config.logLevel)
  for (const warning of configWarnings(config)) logger.warn({}, warning)
  // Opening may block, for example on a backup; a signal must still end the process.
  const store = await Promise.race([opening ?? openStore(config.store, logger), ending])
  if (typeof store === 'string') return DONE
  const endSurvival = surviveUncaughtErrors(logger)
  const auditFile = config.auditLog === undefined ? undefined : await AuditFile.open(config.auditLog, logger)
  let server: Server
  try {
    const { host, port, limits, retention, corsOrigins, allowedHosts, trustProxy, tls, secretKey, redact } = config
    const { basePath, protocols } = config
    const secretKeys = openSecretKeys(secretKey, config.store, logger)?.map((key) => key.toString('hex'))
    server = await createServer({
      components,
      store,
      host,
      port,
      limits,
      retention,
      auth,
      corsOrigins,
      corsLoopback: config.corsLoopback ?? false,
      trustProxy,
      ...(allowedHosts !== undefined && { allowedHosts }),
      ...(basePath !== undefined && { basePath }),
      ...(protocols !== undefined && { protocols }),
      ...(tls !== undefined && { tls }),
      ...(redact !== undefined && { redact }),
      ...(secretKeys !== undefined && { secretKeys }),
      ...(auditFile !== undefined && { audit: auditFile.sink }),
      a2a,
      streamWebhooks: config.streamWebhooks,
      supervised: process.connected, // the IPC channel to the supervisor
      logger,
    })
  } catch (cause) {
    await store.close()
    throw cause
  }
  io.stdout.write(
    `Holdfast listens at ${server.url}\nIt is process ${process.pid} and stores runs in ${describeStore(config.store)}\n${nextSteps(urlsOf(server.url, config), server)}`,
  )
  module.flushCompileCache() // now, because the server may be killed later
  const signal = await ending
  io.stderr.write(`${signal}: draining, at most ${config.limits.drainTimeoutMs ?? 0} ms\n`)
  await server.close()
  await auditFile?.close()
  endSurvival()
  return DONE
}

/** Addresses of protocols, if they are served. */
export interface ProtocolUrls {
  readonly native?: string
  readonly console?: string
}

/** `url`: of the server, with its base path. */
function urlsOf(url: string, { protocols }: Pick<Config, 'protocols'>): ProtocolUrls {
  const paths = toProtocolPaths(protocols)
  return Object.fromEntries([...paths].map(([name, path]) => [name, url + path]))
}

export function describeStore(store: StoreConfig): string {
  if (store.kind === 'postgres') return withoutPassword(store.url)
  if (store.kind === 'nats') return natsText(store)
  return store.kind === 'sqlite' ? store.path : 'memory (lost when this process ends)'
}

export function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal))
    process.once('disconnect', () => resolve('SIGHUP')) // the supervisor is gone
  })
}
