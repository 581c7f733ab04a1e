/** `/runs/{id}/shares`: share links to one run. */
import type { Service } from '../../../core/service.ts'
import type { Share } from '../../../core/access/share-links.ts'
import { readJson } from '../../../http/request/body.ts'
import { respondEmpty, respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import type { NativeLinks } from '../wire/links.ts'
import type { ShareShape } from '../wire/shapes.ts'

/** Default lifetime of a link. */
const EXPIRES_MS = 24 * 3_600_000

export function shareRoutes(service: Service, links: NativeLinks): Route[] {
  return [
    { method: 'POST', path: '/runs/{id}/shares', handle: (call) => createShare(call, service, links) },
    { method: 'GET', path: '/runs/{id}/shares', handle: (call) => listShares(call, service) },
    { method: 'DELETE', path: '/runs/{id}/shares/{share}', handle: (call) => revokeShare(call, service) },
  ]
}

async function createShare(call: Call, service: Service, links: NativeLinks): Promise<void> {
  const id = call.params['id']!
  await service.get(call.principal, id)
  const { parseBody, shareBody } = await import('../wire/shapes.ts')
  const body = parseBody(shareBody, (await readJson(call.request, service.limits.maxBodyBytes)) ?? {})
  const { share, token } = await service.share(call.principal, id, {
    can: body.can ?? ['read'],
    expiresInMs: body.expiresInMs ?? EXPIRES_MS,
  })
  respondJson(call.response, 201, toShare(share, token), {
    location: `${links.run(call, id)}/shares/${share.id}`,
  })
}

async function listShares(call: Call, service: Service): Promise<void> {
  const shares = await service.shares(call.principal, call.params['id']!)
  respondJson(call.response, 200, { shares: shares.map((share) => toShare(share)) })
}

async function revokeShare(call: Call, service: Service): Promise<void> {
  await service.revokeShare(call.principal, call.params['id']!, call.params['share']!)
  respondEmpty(call.response, 204)
}

function toShare({ id, run, can, createdAt, expiresAt }: Share, token?: string): ShareShape {
  return {
    id,
    run,
    can: [...can],
    createdAt,
    expiresAt,
    ...(token !== undefined && { path: `/runs/${encodeURIComponent(run)}/events?share=${token}` }),
  }
}
