/** Health reports, on a path that all protocols share. */
import { STORE_UNAVAILABLE } from '../core/model/errors.ts'
import type { Service, ServiceHealth } from '../core/service.ts'
import { respondJson } from './response/respond.ts'
import type { Call, Route } from './routing/route.ts'

/** Additional fields that clients of other protocols expect in health reports. */
export type HealthFields = Readonly<Record<string, unknown>>

export function healthRoutes(service: Service, fields: HealthFields): Route[] {
  return [
    {
      method: 'GET',
      path: '/health',
      public: true,
      handle: (call) => reportHealth(call, service.health(), fields),
    },
    {
      method: 'GET',
      path: '/health/ready',
      public: true,
      handle: async (call) => reportHealth(call, await service.ready(), fields),
    },
  ]
}

/** Public: the reason why a store or an upstream is unavailable is only in the log. */
function reportHealth(call: Call, { ok, store, upstreams, ...rest }: ServiceHealth, fields: HealthFields): void {
  const status = ok ? 'ok' : 'unavailable'
  const publicHealth = store.ok ? store : { ...store, reason: STORE_UNAVAILABLE }
  respondJson(call.response, ok ? 200 : 503, { status, store: publicHealth, ...rest, ...namedOf(upstreams), ...fields })
}

function namedOf(upstreams: ServiceHealth['upstreams']): object {
  if (upstreams === undefined) return {}
  return { upstreams: upstreams.map(({ url: _url, error: _error, ...each }) => each) }
}
