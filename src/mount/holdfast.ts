/** Holdfast inside an application: handlers for its server, and runs in process. */
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Client, createClient, type Runs } from '../client/client.ts'
import { localPrincipal, type Principal } from '../core/model/principal.ts'
import { type FetchHandler, serveFetch } from '../http/fetch/index.ts'
import type { HttpRequest, HttpResponse } from '../http/exchange.ts'
import { componentsIn } from '../core/ports/component-source.ts'
import { inProcessPaths } from '../server/protocols/protocol-paths.ts'
import { type Chats, chatsOf } from './chats.ts'
import { leaseInstance } from './instances.ts'
import { checkHoldfastOptions, type HoldfastOptions } from './options.ts'
import { UnopenedInstance } from './unopened-instance.ts'
import { untilIdle } from './until-idle.ts'

/** Methods of route handlers, as Next.js names them. */
export type Handlers = Readonly<Record<'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS', FetchHandler>>

/** Calls `next` for paths that Holdfast does not serve. Default: respond with 404. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** Holdfast inside an application, created by `holdfast()`: handlers for its server, and runs in process. */
export interface Holdfast {
  /** For route files of the Next.js App Router: `export const { GET, POST, … } = hf.handlers`. */
  readonly handlers: Handlers
  /** For Hono, Bun.serve, Deno.serve. A second argument may carry the client's address: `{ remoteAddress }`. */
  readonly fetch: FetchHandler
  /** For Express, Connect and `node:http`. */
  readonly node: NodeHandler
  /** Serves WebSockets on an HTTP server, and ignores those of others. Returns a function that detaches it. */
  attach(server: HttpServer): () => void
  /** A client in process that acts as the principal `local`: the interface of `holdfast/client`, without a network. */
  readonly client: Client
  /** The same as `client.runs`. */
  readonly runs: Runs
  /** An in-process client that acts as a principal of your application. */
  clientFor(principal: Principal): Client
  /** Chats of the AI SDK: history for server-rendered pages, and streams for your own routes. */
  readonly chats: Chats
  /** Opens the store and resumes interrupted runs now, instead of with the first request. Throws if it cannot. */
  ready(): Promise<void>
  /** Drains: finishes or hands over running runs, tells subscribers to reconnect, closes the store. */
  close(): Promise<void>
}

/** Opens nothing yet. Throws `invalid_request` for invalid options. */
export function holdfast(options: HoldfastOptions): Holdfast {
  const checked = checkHoldfastOptions(options)
  const lease = leaseInstance(checked)
  const { instance } = lease
  const unopened = new UnopenedInstance(checked)

  const serve = (request: HttpRequest, response: HttpResponse, unclaimed?: () => void): void => {
    const { engine } = instance
    if (options.waitUntil !== undefined && unopened.owns(request))
      options.waitUntil(untilIdle(response, () => instance.engine))
    if (engine !== undefined) return engine.app(request, response, unclaimed)
    if (unclaimed !== undefined && !unopened.owns(request)) return unclaimed()
    instance.open().then(
      ({ app }) => app(request, response, unclaimed),
      (cause: unknown) => unopened.refuse(request, response, cause),
    )
  }
  const fetch: FetchHandler = (request, info) => serveFetch(serve, request, info)
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    instance.open().then(
      (engine) => engine.upgrade(request, socket, head),
      () => socket.end('HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\r\n'),
    )
  }
  const url = (options.url ?? `http://localhost${checked.basePath}`).replace(/\/$/, '')
  const paths = inProcessPaths(checked.paths)
  const fetchAs = async (principal: Principal, request: Request): Promise<Response> =>
    serveFetch(await (await instance.open()).appFor(principal), request)
  const clientFor = (principal: Principal): Client =>
    createClient({
      url: url + paths.get('native')!,
      shareConnections: false,
      fetch: (input, init) => fetchAs(principal, new Request(input, init)),
    })
  const local = clientFor(localPrincipal)

  return {
    handlers: { GET: fetch, HEAD: fetch, POST: fetch, PUT: fetch, PATCH: fetch, DELETE: fetch, OPTIONS: fetch },
    fetch,
    node: (request, response, next) => serve(request, response, next && (() => next())),
    attach(server) {
      const listener = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
        if (unopened.claimsUpgrade(request)) upgrade(request, socket, head)
        // Once there is a listener, Node leaves the socket to it.
        else if (server.listenerCount('upgrade') === 1)
          socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
      }
      server.on('upgrade', listener)
      return () => void server.off('upgrade', listener)
    },
    client: local,
    runs: local.runs,
    clientFor,
    chats: chatsOf({
      url,
      path: paths.get('ai-sdk')!,
      components: () => componentsIn(options.components).map(({ id }) => id),
      fetchAs,
    }),
    async ready() {
      try {
        await instance.open()
      } catch (error) {
        throw (error as Error).cause ?? error // clients do not get the cause, but the developer does
      }
    },
    close: () => lease.close(),
  }
}
