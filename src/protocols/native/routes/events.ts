/** `GET /runs/{id}/events`: one log, three ways to read it. */
import { START } from '../../../core/model/cursor.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Service } from '../../../core/service.ts'
import type { Subscription } from '../../../core/delivery/subscription.ts'
import { respondEmpty, respondText } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Stream, Streams } from '../../../http/response/stream.ts'
import { assertSameLog, checkedCursorAt } from '../requests/checked-cursor.ts'
import { EventFilter } from '../requests/event-filter.ts'
import { servePage } from './event-pages.ts'
import { type EventsStart, readFormat, readStart } from '../requests/events-request.ts'
import { filteredFormat, type LogFormat, ndjsonFormat, progressData, sseFormat } from '../view/formats.ts'
import type { NativeLinks } from '../wire/links.ts'
import { snapshotOf } from '../view/snapshot.ts'

export async function serveEvents(call: Call, service: Service, streams: Streams, links: NativeLinks): Promise<void> {
  const id = call.params['id']!
  const token = call.query.get('share')
  if (token !== null && (call.request.headers.accept ?? '').includes('text/html'))
    return void call.response.writeHead(303, { location: links.page(id, token), 'cache-control': 'no-store' }).end()
  const start = readStart(call, id)
  const format = readFormat(call)
  const stored = await service.get(call.principal, id)
  const filter = EventFilter.read(call.query, stored.run)
  if (start.kind === 'cursor') await assertSameLog(service, call.principal, stored, start.cursor)
  if (format === 'json') {
    const from =
      start.kind === 'snapshot' ? { snapshot: await snapshotOf(service, stored) } : { after: afterOf(stored, start) }
    return servePage(call, service, stored, from, filter)
  }
  if (start.kind === 'snapshot') return followSnapshot(call, service, streams, stored, format, filter)
  const after = afterOf(stored, start)
  // 204: the client has everything. It also stops an EventSource from reconnecting.
  if (isFinished(stored.run.status) && after === stored.next - 1) return respondEmpty(call.response, 204)
  await follow(call, service, streams, stored, start, format, filter)
}

/** The index after which to start; undefined for the earliest event. */
function afterOf({ first, next }: StoredRun, start: EventsStart): number | undefined {
  if (start.kind === 'cursor') return start.cursor.index
  // A trimmed log may have fewer: the stream then starts with a gap, like one from the beginning.
  return start.kind === 'tail' && next - start.count >= first ? next - 1 - start.count : undefined
}

/** Streams a run. Default: from the earliest event that was not trimmed. */
export async function follow(
  call: Call,
  service: Service,
  streams: Streams,
  stored: StoredRun,
  start: EventsStart,
  format: 'sse' | 'ndjson',
  filter?: EventFilter,
): Promise<void> {
  const { first, run } = stored
  const after = afterOf(stored, start)
  const from = after ?? Math.max(START, first - 1)
  const gap = after === undefined && first > 0 ? ({ kind: 'gap', earliest: first } as const) : undefined
  const subscribe = (stream: Stream): Promise<Subscription> => service.subscribe(call.principal, stored, from, stream)
  const whole = formatOf(format, run.id, service)
  const filtered = filter === undefined ? whole : filteredFormat(run.id, whole, filter)
  // The client chose no position, so the first frame has it: the connection may break before the first event.
  const id =
    start.kind === 'tail' && after !== undefined
      ? await checkedCursorAt(service, call.principal, stored, from)
      : undefined
  const opening = id === undefined ? '' : whole.moved('progress', id, progressData(run.id, from, id))
  await streams.serve(call.response, { ...filtered, preamble: filtered.preamble + opening }, subscribe, gap)
}

/** Streams the run's structure, and then the events after it. */
async function followSnapshot(
  call: Call,
  service: Service,
  streams: Streams,
  stored: StoredRun,
  format: 'sse' | 'ndjson',
  filter: EventFilter | undefined,
): Promise<void> {
  const { id } = stored.run
  const snapshot = await snapshotOf(service, stored)
  const whole = formatOf(format, id, service)
  const filtered = filter === undefined ? whole : filteredFormat(id, whole, filter)
  const preamble = whole.preamble + whole.moved('snapshot', snapshot.id, snapshot.json)
  if (snapshot.ended) return respondText(call.response, 200, whole.contentType, preamble, { ...whole.headers })
  await streams.serve(call.response, { ...filtered, preamble }, (stream) =>
    service.subscribe(call.principal, stored, snapshot.index, stream),
  )
}

function formatOf(format: 'sse' | 'ndjson', id: string, service: Service): LogFormat {
  return format === 'sse' ? sseFormat(id, service.limits) : ndjsonFormat(id, service.limits)
}
