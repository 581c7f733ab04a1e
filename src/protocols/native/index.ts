/** The native protocol: routes, errors and OpenAPI document. */
import { HoldfastError } from '../../core/model/errors.ts'
import type { Service } from '../../core/service.ts'
import type { HealthFields } from '../../http/health.ts'
import { respondJson } from '../../http/response/respond.ts'
import type { Protocol, Route } from '../../http/routing/route.ts'
import type { LinkedProtocol } from '../../http/run-link.ts'
import type { Streams } from '../../http/response/stream.ts'
import { toProblem } from './wire/errors.ts'
import { type LinkedPaths, NativeLinks } from './wire/links.ts'
import { nativeRoutes } from './routes/index.ts'
import { runLinksRoute } from './routes/run-links.ts'
import { toComponent } from './wire/responses.ts'

const atRoot: LinkedPaths = new Map([
  ['native', ''],
  ['console', '/console'],
])

export function nativeProtocol(
  service: Service,
  streams: Streams,
  version: string,
  healthFields: HealthFields = {},
  paths: LinkedPaths = atRoot,
  linked: readonly LinkedProtocol[] = [],
  describesComponents = false,
): Protocol {
  const links = new NativeLinks(paths)
  const routes = [
    componentsRoute(service, version, links),
    ...nativeRoutes(service, streams, healthFields, links, version),
    runLinksRoute(service, links, linked),
    openApiRoute(version, links, describesComponents ? service : undefined),
  ]
  return { name: 'native', routes, error: toProblem }
}

function componentsRoute(service: Service, version: string, links: NativeLinks): Route {
  return {
    method: 'GET',
    path: '/components',
    async handle(call) {
      const format = call.query.get('format')
      if (format === null) return respondJson(call.response, 200, { components: service.components().map(toComponent) })
      if (format !== 'openapi') throw new HoldfastError('invalid_request', 'format must be openapi')
      const { openApiDocument } = await import('./wire/openapi.ts')
      respondJson(call.response, 200, openApiDocument(version, links.base(call), service.components()))
    },
  }
}

/** Public. Only a server without authentication lists its components here. */
function openApiRoute(version: string, links: NativeLinks, service: Service | undefined): Route {
  return {
    method: 'GET',
    path: '/openapi.json',
    public: true,
    async handle(call) {
      const { openApiDocument } = await import('./wire/openapi.ts')
      respondJson(call.response, 200, openApiDocument(version, links.base(call), service?.components()))
    },
  }
}
