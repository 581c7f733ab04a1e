/** A standalone server: an engine with an HTTP listener. */
import type { Server as HttpServer } from 'node:http'
import {
  anAmount,
  anObject,
  aString,
  checkOptions,
  checkRequired,
  type OptionRules,
} from '../core/model/check-options.ts'
import type { ComponentOrSource } from '../core/ports/component-source.ts'
import { silentLogger } from '../core/ports/logger.ts'
import type { Store } from '../core/ports/store.ts'
import type { Service } from '../core/service.ts'
import { limitConnections, LISTEN_BACKLOG } from '../http/guards/limit-connections.ts'
import type { TlsOptions } from './certificate-files.ts'
import { closerOfIdle } from './connections.ts'
import { type Engine, openEngine } from './engine.ts'
import type { EngineOptions } from './engine-options.ts'
import { aStore, engineRules } from './engine-rules.ts'
import { createHttpServer, urlOf } from './http-server.ts'
import { DEFAULT_STORE } from './store/default-store.ts'
import { openStore } from './store/open-store.ts'

/** Options of `createServer`. */
export interface ServerOptions extends Omit<EngineOptions, 'store'> {
  /** `sqlite:PATH`, `postgres://…`, `nats://…`, `memory:`, or an open store. `close` closes it. Default: `sqlite:.holdfast/holdfast.db`. */
  readonly store?: string | Store
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: 0, which selects a free port. The command line uses 7777. */
  readonly port?: number
  /** Serves HTTPS, and gRPC over TLS. The certificate is reloaded when its files change. Default: plain HTTP. */
  readonly tls?: TlsOptions
}

const RULES: OptionRules<ServerOptions> = {
  ...engineRules,
  store: aStore,
  host: aString,
  port: anAmount,
  tls: anObject,
}

/** The public part of a server. */
export interface HoldfastServer {
  /** Address with the base path. */
  readonly url: string
  /** Replaces the served components. Runs in progress keep the component that they started with. */
  replaceComponents(components: readonly ComponentOrSource[]): void
  /** Drains: finishes or hands over running runs, tells subscribers to reconnect, closes the store. */
  close(): Promise<void>
}

/** A server with its service, for internal use. */
export interface Server extends HoldfastServer {
  readonly service: Service
}

export async function createServer(options: ServerOptions): Promise<Server> {
  checkOptions('createServer()', options, RULES)
  checkRequired('createServer()', options, ['components'])
  const { host = '127.0.0.1', port = 0, tls, logger = silentLogger } = options
  const certificate = tls && (await (await import('./certificate-files.ts')).CertificateFiles.open(tls, logger))
  const { store: given = DEFAULT_STORE } = options
  const store = typeof given === 'string' ? await openStore(given, logger) : given
  const engine = await openEngine(
    { ...options, store },
    { host, url: () => address(), ...(certificate !== undefined && { certificate }) },
  ).catch(async (cause: unknown) => {
    if (store !== options.store) await store.close()
    throw cause
  })
  const { app, limits, service } = engine
  const http = createHttpServer({ app, upgrades: engine, limits, certificate })
  limitConnections(http, limits)
  const address = (): string => urlOf(http) + engine.basePath
  const closeIdle = closerOfIdle(http)
  http.on('upgrade', engine.upgrade)
  try {
    await listen(http, port, host)
  } catch (cause) {
    await engine.disconnect('not listening')
    await engine.drain()
    if (store !== options.store) await store.close()
    throw cause
  }
  engine.start()
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    certificate?.close()
    await engine.drain()
    await closeHttp(http, engine, closeIdle)
    await engine.close()
  }
  return {
    url: address(),
    service,
    replaceComponents: (components) => engine.replaceComponents(components),
    close: () => (closing ??= close()),
  }
}

/** Time limit for sending the last bytes of open responses. */
const CLOSE_MS = 2000

async function closeHttp(http: HttpServer, engine: Engine, closeIdle: () => void): Promise<void> {
  const closed = Promise.all([new Promise((resolve) => http.close(resolve)), engine.disconnect('draining')])
  closeIdle()
  // Repeat, because a connection may become idle at any time.
  const idle = setInterval(closeIdle, 20)
  const forced = setTimeout(() => http.closeAllConnections(), CLOSE_MS)
  await closed
  clearInterval(idle)
  clearTimeout(forced)
}

function listen(http: HttpServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, host, LISTEN_BACKLOG, resolve)
  })
}
