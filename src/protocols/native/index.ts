/** The native protocol, ready to be mounted. */
import type { Service } from '../../core/service.ts'
import type { Protocol } from '../../http/route.ts'
import type { Streams } from '../../http/stream.ts'
import { toProblem } from './errors.ts'
import { openApiRoute } from './openapi.ts'
import { nativeRoutes } from './routes.ts'

export function nativeProtocol(service: Service, streams: Streams, version: string): Protocol {
  return { name: 'native', routes: [...nativeRoutes(service, streams), openApiRoute(version)], error: toProblem }
}
