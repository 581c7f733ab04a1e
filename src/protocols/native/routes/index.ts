/** Routes of the native protocol, for Holdfast's client and for curl. */
import type { Service } from '../../../core/service.ts'
import { type HealthFields, healthRoutes } from '../../../http/health.ts'
import type { Streams } from '../../../http/response/stream.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import type { NativeLinks } from '../wire/links.ts'
import { forgetRoute } from './forget.ts'
import { answerRun, getRun, listRuns, loadEvents, removeRun, startRun, stopRun } from './runs.ts'
import { sessionRoutes } from './sessions.ts'
import { shareRoutes } from './shares.ts'

export function nativeRoutes(
  service: Service,
  streams: Streams,
  healthFields: HealthFields,
  links: NativeLinks,
  version: string,
): Route[] {
  return [
    { method: 'POST', path: '/runs', handle: (call) => startRun(call, service, streams, links) },
    { method: 'GET', path: '/runs', handle: (call) => listRuns(call, service) },
    { method: 'GET', path: '/runs/{id}', shareable: true, handle: (call) => getRun(call, service) },
    { method: 'DELETE', path: '/runs/{id}', handle: (call) => removeRun(call, service) },
    {
      method: 'GET',
      path: '/runs/{id}/events',
      shareable: true,
      handle: async (call) => (await loadEvents()).serveEvents(call, service, streams, links),
    },
    { method: 'POST', path: '/runs/{id}/stop', shareable: true, handle: (call) => stopRun(call, service) },
    { method: 'POST', path: '/runs/{id}/answers', shareable: true, handle: (call) => answerRun(call, service) },
    ...shareRoutes(service, links),
    ...sessionRoutes(service),
    forgetRoute(service),
    ...metricsRoutes(service, streams, version),
    ...healthRoutes(service, healthFields),
  ]
}

/** At the root of a gateway, `/metrics` may be a route of the upstream. */
function metricsRoutes(service: Service, streams: Streams, version: string): Route[] {
  const handle = async (call: Call): Promise<void> =>
    (await import('./metrics.ts')).serveMetrics(call, service, streams, version)
  return [
    { method: 'GET', path: '/metrics', yields: true, handle },
    { method: 'GET', path: '/admin/metrics', handle },
  ]
}
