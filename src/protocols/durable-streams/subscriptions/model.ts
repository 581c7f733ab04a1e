/** A subscription: cursors on streams, and the wake that is in flight. Pure functions on its document. */
import { FIRST_APPEND } from '../view/stream-state.ts'
import { subscriptionError } from '../wire/errors.ts'
import { parseOffset, toOffset } from '../wire/offsets.ts'

/** Collection with one document per subscription. */
export const SUBSCRIPTIONS = 'durable-stream-subscription'

export interface SubscriptionConfig {
  readonly type: 'webhook' | 'pull-wake'
  readonly pattern?: string
  /** Explicit streams of the creation, sorted. */
  readonly streams: readonly string[]
  readonly webhook?: { readonly url: string }
  readonly wakeStream?: string
  readonly leaseTtlMs: number
  readonly description?: string
}

export interface Link {
  readonly explicit?: true
  readonly glob?: true
  /** Index of the first record that is not processed. */
  readonly acked: number
  /** The stream's run. A stream that was deleted and created again is read from its start. */
  readonly run?: string
  /** Tail at the time of the last wake, which `done` acknowledges. */
  readonly woken?: number
}

export interface Wake {
  readonly id: string
  /** The lease: of a webhook from the wake on, of a worker from its claim on. In milliseconds since 1970. */
  readonly until?: number
  readonly holder?: string
  /** When the wake was created. */
  readonly at: number
  /** The wake event is in the wake stream. */
  readonly announced?: true
}

export interface Subscription {
  readonly config: SubscriptionConfig
  /** By name. */
  readonly links: ReadonlyMap<string, Link>
  readonly generation: number
  readonly wake?: Wake
  /** Consecutive failed deliveries, and when the next one is due. */
  readonly failures?: number
  readonly due?: number
  /** Address of the protocol, as the creator called it. */
  readonly url: string
}

/** What exists at a name. */
export interface Tail {
  readonly run: string
  readonly tail: number
}

export type Tails = ReadonlyMap<string, Tail>

export const LINKS_MAX = 500
/** Maximum size of all links. Bounds the document, which every wake parses. */
const LINK_CHARS_MAX = 50_000
/** Approximate size of a link without its name. */
const LINK_CHARS = 60

/** Within this time a node announces the wake that it created. */
const ANNOUNCE_MS = 5000
const RETRY_MS_MIN = 1000
const RETRY_MS_MAX = 60_000
/** Delays differ by this share, so that receivers are not called all at once. */
const JITTER = 0.2

/** Index of the first record that a link has not processed. */
function ackedOf(link: Link, tail: Tail | undefined): number {
  return link.run !== undefined && tail !== undefined && link.run !== tail.run ? FIRST_APPEND : link.acked
}

export function isPending(link: Link, tail: Tail | undefined): boolean {
  return tail !== undefined && tail.tail > ackedOf(link, tail)
}

export function hasPending({ links }: Subscription, tails: Tails): boolean {
  return Array.from(links).some(([name, link]) => isPending(link, tails.get(name)))
}

/** What a subscription waits for: the end of a lease, a retry, or an announcement by another node. */
export function timeLimitOf({ wake, due, config }: Subscription): { until: number; maxMs: number } | undefined {
  if (wake?.until !== undefined) return { until: wake.until, maxMs: config.leaseTtlMs }
  if (wake?.announced === true) return undefined
  if (due !== undefined) return { until: due, maxMs: RETRY_MS_MAX * (1 + JITTER) }
  return wake && { until: wake.at + ANNOUNCE_MS, maxMs: ANNOUNCE_MS }
}

/** The wake that is in flight. `isOver`: whether its time limit is. */
export function currentWake({ wake }: Subscription, isOver: boolean): Wake | undefined {
  return wake?.until !== undefined && isOver ? undefined : wake
}

/** Names that are linked already, and as many new ones as fit. */
export function withRoom(
  { links }: Subscription,
  names: readonly string[],
): { readonly fitting: readonly string[]; readonly dropped: number } {
  let count = links.size
  let chars = 0
  for (const name of links.keys()) chars += name.length + LINK_CHARS
  const fitting = names.filter((name) => {
    if (links.has(name)) return true
    if (count >= LINKS_MAX || chars + name.length + LINK_CHARS > LINK_CHARS_MAX) return false
    count++
    chars += name.length + LINK_CHARS
    return true
  })
  return { fitting, dropped: names.length - fitting.length }
}

/** `tail`: undefined to begin at the start of the stream. */
export function withLinks(
  subscription: Subscription,
  names: readonly string[],
  kind: 'explicit' | 'glob',
  tails?: Tails,
): Subscription {
  const links = new Map(subscription.links)
  for (const name of names) {
    const tail = tails?.get(name)
    const known = links.get(name) ?? { acked: tail?.tail ?? FIRST_APPEND, ...(tail && { run: tail.run }) }
    links.set(name, { ...known, [kind]: true })
  }
  return { ...subscription, links }
}

export function withoutExplicit(subscription: Subscription, name: string): Subscription {
  const links = new Map(subscription.links)
  const { explicit: _explicit, ...link } = links.get(name) ?? { acked: 0 }
  if (link.glob === true) links.set(name, link)
  else links.delete(name)
  return { ...subscription, links }
}

/** The next generation. Links of deleted streams that only the pattern had matched end here. */
export function withWake(subscription: Subscription, id: string, tails: Tails, now: number): Subscription {
  const links = new Map(
    Array.from(subscription.links)
      .filter(([name, link]) => link.explicit === true || tails.has(name))
      .map(([name, link]) => [name, { ...bound(link, tails.get(name)), woken: tails.get(name)?.tail ?? FIRST_APPEND }]),
  )
  const { leaseTtlMs, type } = subscription.config
  const wake: Wake = {
    id,
    at: now,
    ...(type === 'webhook' && { until: now + leaseTtlMs }),
  }
  return { ...subscription, links, generation: subscription.generation + 1, wake }
}

function bound(link: Link, tail: Tail | undefined): Link {
  return tail === undefined ? link : { ...link, acked: ackedOf(link, tail), run: tail.run }
}

export function withLease(subscription: Subscription, wake: Wake, now: number, holder = wake.holder): Subscription {
  const until = now + subscription.config.leaseTtlMs
  return { ...subscription, wake: { ...wake, until, ...(holder !== undefined && { holder }) } }
}

export function withoutWake({ wake: _wake, ...rest }: Subscription): Subscription {
  return rest
}

/** Schedules the next attempt. */
export function withFailure(subscription: Subscription, now: number): Subscription {
  const failures = (subscription.failures ?? 0) + 1
  const delay = Math.min(RETRY_MS_MIN * 2 ** (failures - 1), RETRY_MS_MAX)
  return { ...subscription, failures, due: now + Math.round(delay * (1 + JITTER * (Math.random() * 2 - 1))) }
}

/** Nothing is left to retry. */
export function withoutDue({ due: _due, ...rest }: Subscription): Subscription {
  return rest
}

export function withoutFailures({ failures: _failures, due: _due, ...rest }: Subscription): Subscription {
  return rest
}

export interface Ack {
  readonly stream: string
  readonly offset: string
}

/** All acknowledgements, or none. Throws `INVALID_OFFSET`. */
export function withAcks(subscription: Subscription, acks: readonly Ack[], tails: Tails): Subscription {
  const links = new Map(subscription.links)
  for (const { stream, offset } of acks) {
    const link = links.get(stream)
    if (link === undefined) throw subscriptionError('INVALID_OFFSET', 'the subscription has no such stream')
    const tail = tails.get(stream)
    const acked = indexOf(offset)
    if (acked < ackedOf(link, tail))
      throw subscriptionError('INVALID_OFFSET', 'the offset is before the acknowledged one')
    if (acked > (tail?.tail ?? FIRST_APPEND)) throw subscriptionError('INVALID_OFFSET', 'the offset is beyond the tail')
    links.set(stream, { ...bound(link, tail), acked })
  }
  return { ...subscription, links }
}

function indexOf(offset: string): number {
  try {
    return parseOffset(offset)
  } catch {
    throw subscriptionError('INVALID_OFFSET', 'the offset is not one of this server')
  }
}

/** Acknowledges what the wake announced. */
export function withWakeAcked(subscription: Subscription): Subscription {
  const links = new Map(
    Array.from(subscription.links, ([name, link]) => [name, { ...link, acked: Math.max(link.acked, link.woken ?? 0) }]),
  )
  return { ...subscription, links }
}

/** The links as responses and notifications show them. */
export function linksOf({ links }: Subscription): readonly Readonly<Record<string, string>>[] {
  return Array.from(links, ([path, link]) => shown(path, link, link.acked))
}

export function linksWithTails({ links }: Subscription, tails: Tails): readonly object[] {
  return Array.from(links, ([path, link]) => {
    const tail = tails.get(path)
    const acked = ackedOf(link, tail)
    return {
      ...shown(path, link, acked),
      tail_offset: toOffset(tail?.tail ?? acked),
      has_pending: isPending(link, tail),
    }
  })
}

function shown(path: string, { explicit }: Link, acked: number): Readonly<Record<string, string>> {
  return { path, link_type: explicit === true ? 'explicit' : 'glob', acked_offset: toOffset(acked) }
}
