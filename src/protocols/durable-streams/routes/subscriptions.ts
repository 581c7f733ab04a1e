/** The routes of subscriptions, below the reserved name `__ds`. Callbacks authenticate with the token of their wake. */
import { type Clock, systemClock } from '../../../core/ports/clock.ts'
import type { Service } from '../../../core/service.ts'
import { bearerIn } from '../../../http/request/bearer.ts'
import { respondEmpty, respondJson, respondText } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { ClientStreams } from '../requests/streams.ts'
import {
  acknowledge,
  addStreams,
  claimSubscription,
  openToken,
  putSubscription,
  releaseClaim,
  removeStream,
  removeSubscription,
  type SubscriptionParts,
} from '../subscriptions/commands.ts'
import type { Deadlines } from '../subscriptions/deadlines.ts'
import { findSubscription, type KnownSubscription, subscriptionMissing } from '../subscriptions/documents.ts'
import type { SubscriptionKeys } from '../subscriptions/keys.ts'
import { linksOf } from '../subscriptions/model.ts'
import {
  parseConfig,
  parseName,
  parseNames,
  parseWakeRequest,
  parseWorker,
  readFields,
  type WebhookPolicy,
  wrong,
} from '../subscriptions/parse.ts'
import type { WakeQueue } from '../subscriptions/wake-queue.ts'

export interface SubscriptionRouteParts {
  readonly service: Service
  /** Default: the system's. */
  readonly clock?: Clock | undefined
  /** Path of the protocol. */
  readonly path: string
  readonly queue: WakeQueue
  readonly deadlines: Deadlines
  readonly keys: () => Promise<SubscriptionKeys>
  readonly webhooks: WebhookPolicy
}

const PATH = '/v1/stream/__ds'
const SUBSCRIPTION = `${PATH}/subscriptions/{id}`

export function subscriptionRoutes(routeParts: SubscriptionRouteParts): Route[] {
  const { service, clock = systemClock, path, queue, deadlines, keys, webhooks } = routeParts
  const known = new ClientStreams(service, clock)
  const parts: SubscriptionParts = { service, known, clock, keys, queue, deadlines }
  const show = async (found: KnownSubscription): Promise<object> => toJson(found, await keys())

  return [
    {
      method: 'GET',
      path: `${PATH}/jwks.json`,
      public: true,
      async handle({ response }) {
        const headers = { 'cache-control': 'public, max-age=300' }
        respondText(response, 200, 'application/jwk-set+json', JSON.stringify((await keys()).jwks), headers)
      },
    },
    {
      method: 'PUT',
      path: SUBSCRIPTION,
      async handle(call) {
        const config = parseConfig(await readFields(call), webhooks)
        const url = addressOf(call, path)
        const { subscription, isNew } = await putSubscription(parts, call.principal, idOf(call), { config, url })
        respondJson(call.response, isNew ? 201 : 200, await show(subscription))
      },
    },
    {
      method: 'GET',
      path: SUBSCRIPTION,
      async handle(call) {
        const found = await findSubscription(service, call.principal, idOf(call))
        if (found === undefined) throw subscriptionMissing()
        respondJson(call.response, 200, await show(found))
      },
    },
    {
      method: 'DELETE',
      path: SUBSCRIPTION,
      async handle(call) {
        await removeSubscription(parts, call.principal, idOf(call))
        respondEmpty(call.response, 204)
      },
    },
    {
      method: 'POST',
      path: `${SUBSCRIPTION}/streams`,
      async handle(call) {
        const names = parseNames((await readFields(call))['streams'])
        if (names.length === 0) throw wrong('streams is empty')
        await addStreams(parts, call.principal, idOf(call), names)
        respondEmpty(call.response, 204)
      },
    },
    {
      method: 'DELETE',
      path: `${SUBSCRIPTION}/streams/{name*}`,
      async handle(call) {
        const name = parseName('the path', decoded(call.params['name'] ?? ''))
        await removeStream(parts, call.principal, idOf(call), name)
        respondEmpty(call.response, 204)
      },
    },
    {
      method: 'POST',
      path: `${SUBSCRIPTION}/claim`,
      async handle(call) {
        const worker = parseWorker(await readFields(call))
        respondJson(call.response, 200, await claimSubscription(parts, call.principal, idOf(call), worker))
      },
    },
    ...(['callback', 'ack'] as const).map((action): Route => ({
      method: 'POST',
      path: `${SUBSCRIPTION}/${action}`,
      public: true,
      async handle(call) {
        const type = action === 'ack' ? 'pull-wake' : 'webhook'
        // Before the body is read: anybody may call this.
        const scope = await openToken(parts, idOf(call), tokenIn(call))
        const request = parseWakeRequest(await readFields(call))
        respondJson(call.response, 200, await acknowledge(parts, idOf(call), type, scope, request))
      },
    })),
    {
      method: 'POST',
      path: `${SUBSCRIPTION}/release`,
      public: true,
      async handle(call) {
        const scope = await openToken(parts, idOf(call), tokenIn(call))
        await releaseClaim(parts, idOf(call), scope, parseWakeRequest(await readFields(call)))
        respondEmpty(call.response, 204)
      },
    },
  ]
}

function idOf({ params: { id = '' } }: Call): string {
  return id
}

function tokenIn({ request }: Call): string | undefined {
  return bearerIn(request.headers.authorization)
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw wrong('the path is not percent-encoded UTF-8')
  }
}

/** Address of the protocol, as the client called it. */
function addressOf({ base, peer }: Call, path: string): string {
  return `${peer.host === '' ? '' : `${peer.protocol}://${peer.host}`}${base}${path}`
}

function toJson({ id, createdAt, state }: KnownSubscription, { kid }: SubscriptionKeys): object {
  const { type, pattern, webhook, wakeStream, leaseTtlMs, description } = state.config
  return {
    id,
    subscription_id: id,
    type,
    pattern,
    streams: linksOf(state),
    ...(webhook !== undefined && {
      webhook: { url: webhook.url, signing: { alg: 'ed25519', kid, jwks_url: `${state.url}/__ds/jwks.json` } },
    }),
    wake_stream: wakeStream,
    lease_ttl_ms: leaseTtlMs,
    created_at: createdAt,
    status: state.failures === undefined ? 'active' : 'failed',
    ...(state.due !== undefined && { next_attempt_at: state.due }),
    description,
  }
}
