/** The native protocol, ready to be mounted. */
import type { Service } from '../../core/service.ts'
import type { HealthFields } from '../../http/health.ts'
import { respondJson } from '../../http/respond.ts'
import type { Protocol, Route } from '../../http/route.ts'
import type { Streams } from '../../http/stream.ts'
import { toProblem } from './errors.ts'
import { nativeRoutes } from './routes.ts'

export function nativeProtocol(
  service: Service,
  streams: Streams,
  version: string,
  healthFields: HealthFields = {},
): Protocol {
  const routes = [...nativeRoutes(service, streams, healthFields), openApiRoute(version)]
  return { name: 'native', routes, error: toProblem }
}

function openApiRoute(version: string): Route {
  return {
    method: 'GET',
    path: '/openapi.json',
    public: true,
    async handle(call) {
      const { openApiDocument } = await import('./openapi.ts')
      respondJson(call.response, 200, openApiDocument(version, call.base))
    },
  }
}
