/** Subscriptions as documents, changed by compare-and-set: any node may wake, and any node takes a callback. */
import type { Document, DocumentPosition } from '../../../core/model/document.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { type Principal, principalOf } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'
import { subscriptionError } from '../wire/errors.ts'
import { type Link, type Subscription, SUBSCRIPTIONS } from './model.ts'

const TRIES_MAX = 20
/** Documents that are parsed at once. */
const PAGE = 20

/** Links as a list of entries: a stream may be called `__proto__`. */
interface StoredSubscription extends Omit<Subscription, 'links'> {
  readonly links: readonly (readonly [string, Link])[]
}

export interface KnownSubscription {
  readonly id: string
  readonly owner: string
  readonly createdAt: string
  readonly state: Subscription
}

export function subscriptionIn({ id, owner, createdAt, body }: Document): KnownSubscription {
  const { links, ...rest } = body as StoredSubscription
  return { id, owner, createdAt, state: { ...rest, links: new Map(links) } }
}

function toBody({ links, ...rest }: Subscription): StoredSubscription {
  return { ...rest, links: Array.from(links) }
}

/** All subscriptions of an owner, oldest first. */
export async function* subscriptionsOf(service: Service, owner: string): AsyncIterable<KnownSubscription> {
  const documents = service.documents(principalOf(owner))
  for (let after: DocumentPosition | undefined; ;) {
    const query = { collection: SUBSCRIPTIONS, limit: PAGE, ascending: true, ...(after && { after }) }
    const page = await documents.list(query)
    yield* page.documents.map(subscriptionIn)
    if (page.next === undefined) return
    after = page.next
  }
}

export async function findSubscription(
  service: Service,
  principal: Principal,
  id: string,
): Promise<KnownSubscription | undefined> {
  const known = await service.documents(principal).get(SUBSCRIPTIONS, id)
  return known && subscriptionIn(known)
}

export function subscriptionMissing(): HoldfastError {
  return subscriptionError('SUBSCRIPTION_NOT_FOUND', 'no such subscription')
}

/** Undefined if there is one with this id. */
export async function createSubscription(
  service: Service,
  principal: Principal,
  id: string,
  state: Subscription,
): Promise<KnownSubscription | undefined> {
  const documents = service.documents(principal)
  const { total } = await documents.list({ collection: SUBSCRIPTIONS, limit: 1 })
  if (total >= service.limits.maxWebhooksPerPrincipal)
    throw new HoldfastError('quota_exceeded', `you have ${total} subscriptions, which is the limit: delete one`)
  const draft = { collection: SUBSCRIPTIONS, id, body: toBody(state) }
  const created = await documents.put(draft, 0, { unredacted: true })
  return created && subscriptionIn(created)
}

/** `change` returns the same state to leave it, and throws to refuse. Ignores the quota: acknowledging must stay possible. */
export async function changeSubscription(
  service: Service,
  owner: string | Principal,
  id: string,
  change: (known: KnownSubscription) => Subscription | Promise<Subscription>,
): Promise<KnownSubscription> {
  const documents = service.documents(typeof owner === 'string' ? principalOf(owner) : owner)
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const document = await documents.get(SUBSCRIPTIONS, id)
    if (document === undefined) throw subscriptionMissing()
    const known = subscriptionIn(document)
    const state = await change(known)
    if (state === known.state) return known
    const draft = { collection: SUBSCRIPTIONS, id, body: toBody(state) }
    const changed = await documents.put(draft, document.version, { unredacted: true, beyondQuota: true })
    if (changed !== undefined) return subscriptionIn(changed)
  }
  throw new HoldfastError('unavailable', 'the subscription is being changed by others: try again', {
    retryAfterMs: 1000,
  })
}
