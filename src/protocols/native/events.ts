/** `GET /runs/{id}/events`: one log, three ways to read it. */
import { START } from '../../core/model/cursor.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import type { Principal } from '../../core/model/principal.ts'
import { lastOf, rawRecords } from '../../core/model/record.ts'
import { isFinished } from '../../core/model/run.ts'
import type { StoredRun } from '../../core/ports/store.ts'
import type { KnownRun, Service } from '../../core/service.ts'
import type { Subscription } from '../../core/delivery/subscription.ts'
import { respondEmpty, respondText } from '../../http/respond.ts'
import type { Call } from '../../http/route.ts'
import type { Stream, StreamFormat, Streams } from '../../http/stream.ts'
import { assertSameLog, type CheckedCursor, parseCheckedCursor } from './checked-cursor.ts'
import { ndjsonFormat, sseFormat } from './formats.ts'
import { pageOf } from './shares.ts'
import { readNumber } from './read-number.ts'

type Format = 'sse' | 'json' | 'ndjson'

export async function serveEvents(call: Call, service: Service, streams: Streams): Promise<void> {
  const id = call.params['id']!
  const token = call.query.get('share')
  if (token !== null && (call.request.headers.accept ?? '').includes('text/html'))
    return void call.response.writeHead(303, { location: pageOf(id, token), 'cache-control': 'no-store' }).end()
  const cursor = readCursor(call, id)
  const format = readFormat(call)
  const stored = await service.get(call.principal, id)
  if (cursor !== undefined) await assertSameLog(service, call.principal, stored, cursor)
  const after = cursor?.index
  if (format === 'json') return servePage(call, service, stored, after)
  // 204: the client has everything. It also ends the reconnecting of an EventSource.
  if (isFinished(stored.run.status) && after === stored.next - 1) return respondEmpty(call.response, 204)
  await follow(call, service, streams, stored, after, format)
}

/** Streams a run from a cursor. Default: from the earliest event that was not trimmed. */
export async function follow(
  call: Call,
  service: Service,
  streams: Streams,
  stored: StoredRun,
  after: number | undefined,
  format: 'sse' | 'ndjson',
): Promise<void> {
  const { first, run } = stored
  const from = after ?? Math.max(START, first - 1)
  const gap = after === undefined && first > 0 ? ({ kind: 'gap', earliest: first } as const) : undefined
  const subscribe = (stream: Stream): Promise<Subscription> => service.subscribe(call.principal, stored, from, stream)
  await streams.serve(call.response, formatOf(format, run.id, service), subscribe, gap)
}

function formatOf(format: 'sse' | 'ndjson', id: string, service: Service): StreamFormat {
  return format === 'sse' ? sseFormat(id, service.limits) : ndjsonFormat(id, service.limits)
}

async function servePage(call: Call, service: Service, stored: StoredRun, after: number | undefined): Promise<void> {
  const { principal, query, response } = call
  const limit = readNumber(query, 'limit', service.limits.pageEventsMax, 1)
  const { first } = stored
  const { id } = stored.run
  const from = after ?? Math.max(START, first - 1)
  const wait = readNumber(query, 'wait', service.limits.longPollTimeoutMs, 0, 0)
  const page =
    (await readPage(service, principal, stored, from, limit)) ??
    (await waitForPage(call, service, id, from, limit, wait))
  const { run, next } = await service.get(principal, id)
  const cursor = page?.cursor ?? from
  const done = isFinished(run.status) && cursor === next - 1
  const gap = after === undefined && first > 0 ? `,"earliest":${first}` : ''
  respondText(
    response,
    200,
    'application/json; charset=utf-8',
    `{"events":[${page?.events ?? ''}],"cursor":${cursor},"done":${done}${gap}}`,
  )
}

interface Page {
  /** Stored envelopes, joined by commas. */
  readonly events: string
  readonly cursor: number
}

async function readPage(
  service: Service,
  principal: Principal,
  known: KnownRun,
  after: number,
  limit: number,
): Promise<Page | undefined> {
  const slice = await service.read(principal, known, after)
  if (slice === undefined) return undefined
  const records = rawRecords(slice).slice(0, limit)
  return { events: records.map(({ envelope }) => envelope).join(','), cursor: records.at(-1)?.index ?? lastOf(slice) }
}

async function waitForPage(
  call: Call,
  service: Service,
  id: string,
  after: number,
  limit: number,
  wait: number,
): Promise<Page | undefined> {
  if (wait === 0) return undefined
  const { run } = await service.get(call.principal, id)
  if (isFinished(run.status)) return undefined
  const more = await service.waitForMore(call.principal, id, after, wait, call.signal, { countsAsSubscriber: true })
  return more ? readPage(service, call.principal, id, after, limit) : undefined
}

/** `Last-Event-ID` takes precedence over the URL, because a reconnecting browser updates only the header. */
function readCursor(call: Call, id: string): CheckedCursor | undefined {
  const header = call.request.headers['last-event-id']
  const text = (Array.isArray(header) ? header[0] : header) || call.query.get('after')
  return text === null || text === '' ? undefined : parseCheckedCursor(text, id)
}

function readFormat(call: Call): Format {
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
