/** Merges the sessions of an upstream into this server's list. If both have a session, this server's is listed. */
import type { Call } from '../../../http/routing/route.ts'
import type { UpstreamSessions } from '../requests/upstream-sessions.ts'

type Session = Readonly<Record<string, unknown>>

/** State of the upstream, for the list. */
export type UpstreamReport =
  | { readonly name: string; readonly status: 'ok' }
  /** It has more sessions than are merged; the rest is at `/upstream/NAME/sessions`. */
  | { readonly name: string; readonly status: 'truncated' }
  | { readonly name: string; readonly status: 'unreachable' }
  | { readonly name: string; readonly status: 'error'; readonly code: number }

interface FoundUpstream {
  readonly sessions: readonly Session[]
  readonly report: UpstreamReport
}

/** Maximum sessions of an upstream that are merged, and page size of its requests. */
export const MERGED_MAX = 1000
const PAGE = 100

/** The upstream's sessions in its own order, without those that `isOurs` selects. Missing pages are skipped and reported. */
export async function sessionsOfUpstream(
  call: Call,
  upstream: UpstreamSessions,
  isOurs: (id: string) => Promise<boolean>,
): Promise<FoundUpstream> {
  const { name } = upstream
  const sessions: Session[] = []
  for (let page = 1; page <= MERGED_MAX / PAGE; page++) {
    const query = new URLSearchParams(call.query)
    query.set('page', String(page))
    query.set('limit', String(PAGE))
    const response = await upstream.list(call, query).catch(() => undefined)
    if (response === undefined) return { sessions: [], report: { name, status: 'unreachable' } }
    const listed = sessionsIn(response.body)
    if (response.status !== 200 || listed === undefined)
      return { sessions: [], report: { name, status: 'error', code: response.status } }
    const known = await Promise.all(listed.map(({ session_id: id }) => isOurs(String(id))))
    sessions.push(...listed.filter((_, index) => !known[index]))
    // Not by a short page, because a server may have a lower limit.
    if (listed.length === 0 || page >= pagesIn(response.body)) return { sessions, report: { name, status: 'ok' } }
  }
  return { sessions, report: { name, status: 'truncated' } }
}

function sessionsIn(body: unknown): readonly Session[] | undefined {
  const { data } = (typeof body === 'object' && body !== null ? body : {}) as { data?: unknown }
  if (!Array.isArray(data)) return undefined
  return data.filter((each): each is Session => typeof (each as Session | null)?.['session_id'] === 'string')
}

function pagesIn(body: unknown): number {
  const { meta } = body as { readonly meta?: { readonly total_pages?: unknown } | null }
  return Number(meta?.total_pages ?? 1)
}

interface MergeOrder {
  readonly field: 'created_at' | 'updated_at'
  readonly ascending: boolean
}

/** Merges two sorted lists; sessions without a time come last. This server's come first among equals. */
export function mergeSessions(ours: readonly Session[], theirs: readonly Session[], order: MergeOrder): Session[] {
  const merged: Session[] = []
  let [own, other] = [0, 0]
  while (own < ours.length || other < theirs.length) {
    const isOwn = other >= theirs.length || (own < ours.length && !isBefore(theirs[other]!, ours[own]!, order))
    merged.push(isOwn ? ours[own++]! : theirs[other++]!)
  }
  return merged
}

function isBefore(one: Session, other: Session, { field, ascending }: MergeOrder): boolean {
  const [left, right] = [timeOf(one[field]), timeOf(other[field])]
  if (Number.isNaN(left)) return false
  if (Number.isNaN(right)) return true
  return ascending ? left < right : left > right
}

/** agno writes times as text or as seconds. */
function timeOf(value: unknown): number {
  return typeof value === 'number' ? value * 1000 : Date.parse(String(value))
}
