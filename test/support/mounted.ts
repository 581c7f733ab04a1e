/** Servers of other frameworks with Holdfast mounted, to run the protocol suites there too. */
import { once } from 'node:events'
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { type Holdfast, holdfast } from '../../src/mount/holdfast.ts'
import type { Instance } from '../../src/mount/instance.ts'
import type { Server, ServerOptions } from '../../src/server/create-server.ts'

/** Where Holdfast is mounted. */
export const MOUNT_PATH = '/api/agents'

const hosts: Readonly<Record<string, (hf: Holdfast) => HttpServer>> = {
  // Without `next`, Holdfast answers for all paths below its own.
  express: (hf) =>
    createHttpServer(express().use(MOUNT_PATH, (request, response) => hf.node(request, response))).listen(
      0,
      '127.0.0.1',
    ),
  hono: (hf) =>
    serve({ fetch: new Hono().mount(MOUNT_PATH, hf.fetch).fetch, port: 0, hostname: '127.0.0.1' }) as HttpServer,
}

/** Options that only a standalone server has. */
const OWN = ['host', 'port', 'tls'] as const

/** Undefined if the server is to serve by itself. */
export function mountedIn(options: Partial<ServerOptions>): ((given: ServerOptions) => Promise<Server>) | undefined {
  const name = process.env['HOLDFAST_TEST_MOUNT'] ?? ''
  if (name === '' || OWN.some((own) => own in options) || options.a2a?.grpcPort !== undefined) return undefined
  const host = hosts[name]
  if (host === undefined) throw new Error(`HOLDFAST_TEST_MOUNT=${name}: use ${Object.keys(hosts).join(' or ')}`)
  return (given) => mountIn(host, given)
}

async function mountIn(host: (hf: Holdfast) => HttpServer, options: ServerOptions): Promise<Server> {
  const hf = holdfast({ logger: silentLogger, ...options, basePath: MOUNT_PATH })
  await hf.ready()
  const http = host(hf)
  // Node's default of five seconds passes while a starved test does not read, and the next request on that connection is reset.
  http.keepAliveTimeout = 65_000
  if (!http.listening) await once(http, 'listening')
  hf.attach(http)
  const engine = await instanceOf(options.store).open()
  const close = async (): Promise<void> => {
    await hf.close()
    http.closeIdleConnections()
    const forced = setTimeout(() => http.closeAllConnections(), 2000)
    await new Promise((resolve) => http.close(resolve))
    clearTimeout(forced)
  }
  let closing: Promise<void> | undefined
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}${MOUNT_PATH}`,
    service: engine.service,
    replaceComponents: (components) => engine.replaceComponents(components),
    close: () => (closing ??= close()),
  }
}

function instanceOf(store: unknown): Instance {
  const shared = globalThis as { [key: symbol]: Map<unknown, { readonly instance: Instance }> | undefined }
  return shared[Symbol.for('holdfast.instances')]!.get(store)!.instance
}
