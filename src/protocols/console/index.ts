/** The console: its page and files, and API routes beyond the native protocol. */
import type { Service } from '../../core/service.ts'
import { ISOLATION_HEADERS, respondText } from '../../http/response/respond.ts'
import type { Call, Protocol, Route } from '../../http/routing/route.ts'
import { toProblemResponse } from '../../http/response/problem.ts'
import { type ConsoleFiles, openFiles } from './files.ts'
import { serveFrames, type ProtocolView } from './frames.ts'
import { LiveRuns } from './live-runs.ts'
import { mountedPage, type PagePaths } from './mounted-page.ts'
import { describeServer, type ServerInfo } from './server-info.ts'

export interface ConsoleOptions extends ServerInfo {
  readonly service: Service
  /** Views of other protocols. */
  readonly views: readonly ProtocolView[]
  readonly paths: PagePaths
  readonly files?: ConsoleFiles
}

export function consoleProtocol(options: ConsoleOptions): Protocol {
  const { service, views, paths, files = openFiles(), ...facts } = options
  const runs = new LiveRuns(service)
  return {
    name: 'console',
    routes: [
      ...PAGES.map((path): Route => ({
        method: 'GET',
        path,
        public: true,
        handle: (call) => servePage(call, files, paths),
      })),
      { method: 'GET', path: '/console/api/server', handle: (call) => describeServer(call, service, facts, views) },
      { method: 'GET', path: '/console/api/runs', handle: (call) => runs.serve(call) },
      {
        method: 'GET',
        path: '/console/api/runs/{id}/frames',
        handle: (call) => serveFrames(call, service, views),
      },
      {
        method: 'GET',
        path: '/console/assets/{file}',
        public: true,
        handle: (call) => serveAsset(call, files),
      },
    ],
    error: toProblemResponse,
  }
}

/** Paths of the console, all served by one single-page application. */
const PAGES = [
  '/console',
  '/console/',
  '/console/runs',
  '/console/runs/{id}',
  '/console/start',
  '/console/break',
  '/console/server',
]

/**
 * Allows only the console's own files and no HTML from strings, so that an agent's output cannot execute. Artifact images are data
 * or blob URLs.
 */
const PAGE_HEADERS = {
  'content-security-policy': [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'`,
    `img-src 'self' data: blob:`,
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-cache',
}

async function servePage(call: Call, files: ConsoleFiles, paths: PagePaths): Promise<void> {
  const { page } = await files.load()
  respondText(call.response, 200, 'text/html; charset=utf-8', mountedPage(page, call.base, paths), PAGE_HEADERS)
}

async function serveAsset(call: Call, files: ConsoleFiles): Promise<void> {
  const asset = files.asset(await files.load(), call.params['file']!)
  const { request, response } = call
  const zipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
  const body = zipped ? asset.zipped : asset.bytes
  response.writeHead(200, {
    'content-type': asset.type,
    'content-length': body.length,
    // File names contain a content hash.
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    ...ISOLATION_HEADERS,
    vary: 'accept-encoding',
    ...(zipped && { 'content-encoding': 'gzip' }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
