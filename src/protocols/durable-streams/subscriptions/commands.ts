/** What clients do with subscriptions. */
import { randomBytes } from 'node:crypto'
import { HoldfastError } from '../../../core/model/errors.ts'
import { type Principal, principalOf } from '../../../core/model/principal.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { Service } from '../../../core/service.ts'
import { type ClientStreams, STREAM_COMPONENT } from '../requests/streams.ts'
import { subscriptionError } from '../wire/errors.ts'
import {
  changeSubscription,
  createSubscription,
  findSubscription,
  type KnownSubscription,
  subscriptionMissing,
} from './documents.ts'
import { matchesPattern } from './glob.ts'
import type { SubscriptionKeys } from './keys.ts'
import {
  currentWake,
  hasPending,
  LINKS_MAX,
  linksWithTails,
  type Subscription,
  type SubscriptionConfig,
  SUBSCRIPTIONS,
  type Tails,
  type Wake,
  withAcks,
  withLease,
  withLinks,
  withoutExplicit,
  withoutWake,
  withWake,
} from './model.ts'
import type { WakeRequest } from './parse.ts'
import { listNames, readTails } from './tails.ts'

export interface SubscriptionParts {
  readonly service: Service
  readonly known: ClientStreams
  readonly clock: Clock
  readonly keys: () => Promise<SubscriptionKeys>
  /** Called when a subscription may have to wake somebody. */
  readonly noteOwner: (owner: string) => void
}

export function newWakeId(): string {
  return `w_${randomBytes(12).toString('hex')}`
}

/** `isNew`: false if it existed with the same configuration. `url`: address of the protocol. */
export async function putSubscription(
  { service, known }: SubscriptionParts,
  principal: Principal,
  id: string,
  { config, url }: { readonly config: SubscriptionConfig; readonly url: string },
): Promise<{ readonly subscription: KnownSubscription; readonly isNew: boolean }> {
  await service.clientLogs.permitCreate(principal, STREAM_COMPONENT)
  const found = await findSubscription(service, principal, id)
  if (found === undefined) {
    const { pattern, streams } = config
    const all = pattern === undefined ? [] : await listNames(service, principal)
    const matching = all.filter((name) => matchesPattern(config, name))
    checkRoom(new Set([...matching, ...streams]).size)
    // Existing content is not announced: links begin at the tail.
    const tails = await readTails(known, principal, new Set([...matching, ...streams]))
    const empty: Subscription = { config, url, links: new Map(), generation: 0 }
    const state = withLinks(withLinks(empty, matching, 'glob', tails), streams, 'explicit', tails)
    const created = await createSubscription(service, principal, id, state)
    if (created !== undefined) return { subscription: created, isNew: true }
  }
  const existing = found ?? (await findSubscription(service, principal, id))
  if (existing === undefined) throw subscriptionMissing()
  if (!isSame(existing.state.config, config))
    throw subscriptionError('SUBSCRIPTION_ALREADY_EXISTS', 'the subscription exists with another configuration')
  return { subscription: existing, isNew: false }
}

function isSame(a: SubscriptionConfig, b: SubscriptionConfig): boolean {
  return keyOf(a) === keyOf(b)
}

function keyOf({ type, pattern, streams, webhook, wakeStream, leaseTtlMs, description }: SubscriptionConfig): string {
  return JSON.stringify([type, pattern, streams, webhook?.url, wakeStream, leaseTtlMs, description])
}

function checkRoom(links: number): void {
  if (links > LINKS_MAX)
    throw new HoldfastError('quota_exceeded', `a subscription has at most ${LINKS_MAX} streams, not ${links}`)
}

export async function removeSubscription(
  { service }: SubscriptionParts,
  principal: Principal,
  id: string,
): Promise<void> {
  await service.documents(principal).remove(SUBSCRIPTIONS, id)
}

/** Linked at the tail. */
export async function addStreams(
  { service, known }: SubscriptionParts,
  principal: Principal,
  id: string,
  names: readonly string[],
): Promise<void> {
  const tails = await readTails(known, principal, names)
  await changeSubscription(service, principal, id, ({ state }) => {
    const changed = withLinks(state, names, 'explicit', tails)
    checkRoom(changed.links.size)
    return changed
  })
}

export async function removeStream(
  { service }: SubscriptionParts,
  principal: Principal,
  id: string,
  name: string,
): Promise<void> {
  await changeSubscription(service, principal, id, ({ state }) => {
    const isMatched = matchesPattern(state.config, name) && state.links.has(name)
    // The pattern keeps what it matches, even if the link was explicit first.
    return withoutExplicit(isMatched ? withLinks(state, [name], 'glob') : state, name)
  })
}

/** Takes the wake that is in flight, or creates one if there is work. */
export async function claimSubscription(
  { service, known, clock, keys }: SubscriptionParts,
  principal: Principal,
  id: string,
  worker: string,
): Promise<object> {
  let tails: Tails = new Map()
  const claimed = await changeSubscription(service, principal, id, async ({ state }) => {
    requireType(state, 'pull-wake')
    const now = clock.now()
    const wake = currentWake(state, now)
    if (wake?.holder !== undefined)
      throw subscriptionError('ALREADY_CLAIMED', 'another worker has claimed the subscription', {
        current_holder: wake.holder,
        generation: state.generation,
      })
    tails = await readTails(known, principal, state.links.keys())
    if (!hasPending(state, tails)) throw subscriptionError('NO_PENDING_WORK', 'the subscription has no pending work')
    const woken = wake === undefined ? withWake(state, newWakeId(), tails, now) : state
    return withLease(woken, woken.wake!, now, worker)
  })
  const { owner, state } = claimed
  return {
    wake_id: state.wake!.id,
    generation: state.generation,
    token: (await keys()).token({ owner, subscription: id, generation: state.generation }),
    streams: linksWithTails(state, tails),
    lease_ttl_ms: state.config.leaseTtlMs,
  }
}

/** A callback of a webhook, or an acknowledgement of a worker: applies it, and extends or ends the lease. */
export async function acknowledge(
  parts: SubscriptionParts,
  id: string,
  type: SubscriptionConfig['type'],
  token: string | undefined,
  request: WakeRequest,
): Promise<{ readonly ok: true; readonly next_wake: boolean }> {
  const { service, known, clock, noteOwner } = parts
  const { owner, generation } = await openToken(parts, id, token)
  let hasMore = false
  await changeSubscription(service, owner, id, async ({ state }) => {
    requireType(state, type)
    const wake = requireWake(state, generation, request, clock.now())
    const tails = await readTails(known, principalOf(owner), state.links.keys())
    const acked = withAcks(state, request.acks, tails)
    hasMore = hasPending(acked, tails)
    return request.done ? withoutWake(acked) : withLease(acked, wake, clock.now())
  })
  const next = request.done && hasMore
  if (next) noteOwner(owner)
  return { ok: true, next_wake: next }
}

export async function releaseClaim(
  parts: SubscriptionParts,
  id: string,
  token: string | undefined,
  request: WakeRequest,
): Promise<void> {
  const { owner, generation } = await openToken(parts, id, token)
  await changeSubscription(parts.service, owner, id, ({ state }) => {
    requireType(state, 'pull-wake')
    requireWake(state, generation, request, parts.clock.now())
    return withoutWake(state)
  })
  parts.noteOwner(owner)
}

async function openToken(
  { keys }: SubscriptionParts,
  id: string,
  token: string | undefined,
): Promise<{ readonly owner: string; readonly generation: number }> {
  const scope = token === undefined ? undefined : (await keys()).open(token)
  if (scope?.subscription !== id)
    throw subscriptionError('TOKEN_INVALID', 'the Authorization header has no token of this subscription')
  return scope
}

function requireType({ config }: Subscription, type: SubscriptionConfig['type']): void {
  if (config.type !== type) throw subscriptionError('INVALID_REQUEST', `the subscription is not of type ${type}`)
}

function requireWake(state: Subscription, generation: number, request: WakeRequest, now: number): Wake {
  const wake = currentWake(state, now)
  const isCurrent =
    generation === state.generation && request.generation === state.generation && request.wakeId === wake?.id
  if (wake === undefined || !isCurrent) throw subscriptionError('FENCED', 'the wake is not the current one')
  return wake
}
