/** A server of its own: an engine, and the HTTP listener in front of it. */
import type { Server as HttpServer } from 'node:http'
import type { Component } from '../core/ports/component.ts'
import { silentLogger } from '../core/ports/logger.ts'
import type { Service } from '../core/service.ts'
import { limitConnections, LISTEN_BACKLOG } from '../http/limit-connections.ts'
import { CertificateFiles, type TlsOptions } from './certificate-files.ts'
import { closerOfIdle } from './connections.ts'
import { type Engine, type EngineOptions, openEngine } from './engine.ts'
import { createHttpServer, urlOf } from './http-server.ts'

export interface ServerOptions extends EngineOptions {
  readonly host?: string
  /** 0 picks a free one. */
  readonly port?: number
  /** Serves HTTPS, and gRPC over TLS. The certificate is reloaded when its files change. */
  readonly tls?: TlsOptions
}

export interface Server {
  readonly url: string
  readonly service: Service
  /** Serves these from now on. Runs in progress keep the component that they started with. */
  replaceComponents(components: readonly Component[]): void
  /** Drains: finishes or hands over running runs, tells subscribers to reconnect, closes the store. */
  stop(): Promise<void>
}

export async function createServer(options: ServerOptions): Promise<Server> {
  const { host = '127.0.0.1', port = 0, tls, logger = silentLogger } = options
  const certificate = tls && (await CertificateFiles.open(tls, logger))
  const engine = await openEngine(options, {
    host,
    url: () => urlOf(http),
    ...(certificate !== undefined && { certificate }),
  })
  const { app, limits, service } = engine
  const http = createHttpServer({ app, upgrades: engine, limits, certificate })
  limitConnections(http, limits)
  const closeIdle = closerOfIdle(http)
  http.on('upgrade', engine.upgrade)
  try {
    await listen(http, port, host)
  } catch (cause) {
    await engine.disconnect('not listening')
    await engine.drain()
    throw cause
  }
  engine.begin()
  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    certificate?.close()
    await engine.drain()
    await closeHttp(http, engine, closeIdle)
    await engine.close()
  }
  return {
    url: urlOf(http),
    service,
    replaceComponents: (components) => engine.replaceComponents(components),
    stop: () => (stopping ??= stop()),
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
