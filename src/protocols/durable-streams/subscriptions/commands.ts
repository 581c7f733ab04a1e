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
import type { Deadlines } from './deadlines.ts'
import type { SubscriptionKeys, TokenScope } from './keys.ts'
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
  withRoom,
  withWake,
} from './model.ts'
import type { WakeRequest } from './parse.ts'
import { listNames, readTails } from './tails.ts'
import type { WakeQueue } from './wake-queue.ts'

export interface SubscriptionParts {
  readonly service: Service
  readonly known: ClientStreams
  readonly clock: Clock
  readonly keys: () => Promise<SubscriptionKeys>
  readonly queue: WakeQueue
  readonly deadlines: Deadlines
}

export function newWakeId(): string {
  return `w_${randomBytes(12).toString('hex')}`
}

/** `isNew`: false if it existed with the same configuration. `url`: address of the protocol. */
export async function putSubscription(
  { service, known, queue }: SubscriptionParts,
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
    const names = [...new Set([...matching, ...streams])]
    const empty: Subscription = { config, url, links: new Map(), generation: 0 }
    checkRoom(empty, names)
    // Existing content is not announced: links begin at the tail.
    const tails = await readTails(known, principal, names)
    const state = withLinks(withLinks(empty, matching, 'glob', tails), streams, 'explicit', tails)
    const created = await createSubscription(service, principal, id, state)
    if (created !== undefined) {
      queue.addSubscription(created.owner, id)
      return { subscription: created, isNew: true }
    }
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

function checkRoom(state: Subscription, names: readonly string[]): void {
  const { dropped } = withRoom(state, names)
  if (dropped > 0)
    throw new HoldfastError(
      'quota_exceeded',
      `a subscription has at most ${LINKS_MAX} streams, or fewer with long names: ${dropped} of these do not fit`,
    )
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
    checkRoom(state, names)
    return withLinks(state, names, 'explicit', tails)
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
  { service, known, clock, keys, deadlines }: SubscriptionParts,
  principal: Principal,
  id: string,
  worker: string,
): Promise<object> {
  let tails: Tails = new Map()
  const claimed = await changeSubscription(service, principal, id, async (found) => {
    const { state } = found
    requireType(state, 'pull-wake')
    const now = clock.now()
    const wake = currentWake(state, deadlines.isOver(found))
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
  deadlines.isOver(claimed) // measured from now on
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
  scope: TokenScope,
  request: WakeRequest,
): Promise<{ readonly ok: true; readonly next_wake: boolean }> {
  const { service, known, clock, queue, deadlines } = parts
  const { owner, generation } = scope
  let hasMore = false
  const changed = await changeSubscription(service, owner, id, async (found) => {
    const { state } = found
    requireType(state, type)
    const wake = requireWake(parts, found, generation, request)
    const names = request.done ? state.links.keys() : request.acks.map(({ stream }) => stream)
    const tails = await readTails(known, principalOf(owner), names)
    const acked = withAcks(state, request.acks, tails)
    hasMore = request.done && hasPending(acked, tails)
    return request.done ? withoutWake(acked) : withLease(acked, wake, clock.now())
  })
  deadlines.isOver(changed) // measured from now on
  if (hasMore) queue.addSubscription(owner, id)
  return { ok: true, next_wake: hasMore }
}

export async function releaseClaim(
  parts: SubscriptionParts,
  id: string,
  { owner, generation }: TokenScope,
  request: WakeRequest,
): Promise<void> {
  await changeSubscription(parts.service, owner, id, (found) => {
    requireType(found.state, 'pull-wake')
    requireWake(parts, found, generation, request)
    return withoutWake(found.state)
  })
  parts.queue.addSubscription(owner, id)
}

/** Throws unless it is a token of this subscription. */
export async function openToken(
  { keys }: SubscriptionParts,
  id: string,
  token: string | undefined,
): Promise<TokenScope> {
  const scope = token === undefined ? undefined : (await keys()).open(token)
  if (scope?.subscription !== id)
    throw subscriptionError('TOKEN_INVALID', 'the Authorization header has no token of this subscription')
  return scope
}

function requireType({ config }: Subscription, type: SubscriptionConfig['type']): void {
  if (config.type !== type) throw subscriptionError('INVALID_REQUEST', `the subscription is not of type ${type}`)
}

function requireWake(
  { deadlines }: SubscriptionParts,
  found: KnownSubscription,
  generation: number,
  request: WakeRequest,
): Wake {
  const { state } = found
  const wake = currentWake(state, deadlines.isOver(found))
  const isCurrent =
    generation === state.generation && request.generation === state.generation && request.wakeId === wake?.id
  if (wake === undefined || !isCurrent) throw subscriptionError('FENCED', 'the wake is not the current one')
  return wake
}
