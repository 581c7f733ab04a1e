/** Parses the query of `GET /runs/{id}/events`: where to start, what to deliver, and in which format. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Call } from '../../../http/routing/route.ts'
import { type CheckedCursor, parseCheckedCursor } from './checked-cursor.ts'
import { readNumber } from '../../../http/request/read-number.ts'

export type EventsFormat = 'sse' | 'json' | 'ndjson'

export type EventsStart =
  /** Start at the earliest event that was not trimmed. */
  | { readonly kind: 'earliest' }
  | { readonly kind: 'cursor'; readonly cursor: CheckedCursor }
  /** Start with the last events. 0 means only new ones. */
  | { readonly kind: 'tail'; readonly count: number }
  /** Start with the run's structure. */
  | { readonly kind: 'snapshot' }

/** Maximum of `tail`: practically any number, because a stream is paged. */
const TAIL_MAX = 9_999_999_999

export function readStart(call: Call, run: string): EventsStart {
  const { query } = call
  const asked = STARTS.filter((name) => (query.get(name) ?? '') !== '')
  if (asked.length > 1)
    throw new HoldfastError('invalid_request', `${asked.join(' and ')} cannot be combined: pass one of them`)
  // Takes precedence over the URL, because a reconnecting browser updates only the header.
  const header = call.request.headers['last-event-id']
  const sent = Array.isArray(header) ? header[0] : header
  if (sent !== undefined && sent !== '') return { kind: 'cursor', cursor: parseCheckedCursor(sent, run) }
  const [name] = asked
  if (name === undefined) return { kind: 'earliest' }
  if (name === 'tail') return { kind: 'tail', count: readNumber(query, 'tail', TAIL_MAX, 0) }
  if (name === 'snapshot') return readSnapshot(query.get('snapshot')!)
  const after = query.get('after')!
  return after === 'end' ? { kind: 'tail', count: 0 } : { kind: 'cursor', cursor: parseCheckedCursor(after, run) }
}

const STARTS = ['after', 'tail', 'snapshot'] as const

function readSnapshot(value: string): EventsStart {
  if (value === '1' || value === 'true') return { kind: 'snapshot' }
  if (value === '0' || value === 'false') return { kind: 'earliest' }
  throw new HoldfastError(
    'invalid_request',
    `snapshot is ${JSON.stringify(value.slice(0, 100))}; use 1, or leave it out`,
  )
}

export function readFormat(call: Call): EventsFormat {
  const wanted = call.query.get('format')
  if (wanted !== null) {
    if (wanted === 'sse' || wanted === 'json' || wanted === 'ndjson') return wanted
    throw new HoldfastError(
      'invalid_request',
      `format is ${JSON.stringify(wanted.slice(0, 100))}; use sse, json or ndjson`,
    )
  }
  const accept = call.request.headers.accept ?? ''
  if (accept.includes('text/event-stream')) return 'sse'
  if (accept.includes('application/x-ndjson')) return 'ndjson'
  return accept.includes('application/json') || call.query.has('wait') ? 'json' : 'sse'
}
