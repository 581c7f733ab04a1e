/** `GET /runs/{id}/events?format=json`: the log in pages, with long-polling. */
import { START } from '../../../core/model/cursor.ts'
import { lastOf, rawRecords } from '../../../core/model/slice.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { KnownRun, Service } from '../../../core/service.ts'
import { respondText } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { EventFilter } from '../requests/event-filter.ts'
import { readNumber } from '../../../http/request/read-number.ts'
import type { EncodedSnapshot } from '../view/snapshot.ts'

export interface PageStart {
  /** Default: before the earliest event that was not trimmed. */
  readonly after?: number | undefined
  /** Snapshot that the events follow. */
  readonly snapshot?: EncodedSnapshot
}

interface Page {
  /** Stored envelopes, joined by commas. */
  readonly events: string
  /** Index up to which the log was read. */
  readonly cursor: number
}

/** Maximum reads of the log per search for events that a filter selects. */
const SEARCH_READS_MAX = 16

export async function servePage(
  call: Call,
  service: Service,
  stored: StoredRun,
  { after, snapshot }: PageStart,
  filter: EventFilter | undefined,
): Promise<void> {
  const { principal, query } = call
  const limit = readNumber(query, 'limit', service.limits.maxPageEvents, 1)
  const wait = readNumber(query, 'wait', service.limits.longPollTimeoutMs, 0, 0)
  const { first } = stored
  const from = snapshot?.index ?? after ?? Math.max(START, first - 1)
  const read = (known: KnownRun, cursor: number): Promise<Page> => readPage(call, service, known, cursor, limit, filter)
  let page = await read(stored, from)
  if (page.events === '' && snapshot === undefined) page = await waitForPage(call, service, page, wait, read)
  const { run, next } = await service.get(principal, stored.run.id)
  const fields = [
    ...(snapshot === undefined ? [] : [`"snapshot":${snapshot.json}`]),
    `"events":[${page.events}]`,
    `"cursor":${page.cursor}`,
    `"done":${isFinished(run.status) && page.cursor === next - 1}`,
    ...(snapshot === undefined && after === undefined && first > 0 ? [`"earliest":${first}`] : []),
  ]
  respondText(call.response, 200, 'application/json; charset=utf-8', `{${fields.join(',')}}`)
}

/** Reads the next events; if there are none, how far the log was searched. */
async function readPage(
  { principal }: Call,
  service: Service,
  known: KnownRun,
  after: number,
  limit: number,
  filter: EventFilter | undefined,
): Promise<Page> {
  let cursor = after
  for (let reads = 0; reads < SEARCH_READS_MAX; reads++) {
    const slice = await service.read(principal, known, cursor)
    if (slice === undefined) break
    const records = filter?.recordsOf(slice) ?? rawRecords(slice)
    const taken = records.slice(0, limit)
    cursor = taken.length < records.length ? taken.at(-1)!.index : lastOf(slice)
    if (taken.length > 0) return { events: taken.map(({ envelope }) => envelope).join(','), cursor }
  }
  return { events: '', cursor }
}

async function waitForPage(
  call: Call,
  service: Service,
  empty: Page,
  wait: number,
  read: (known: KnownRun, cursor: number) => Promise<Page>,
): Promise<Page> {
  const id = call.params['id']!
  const until = performance.now() + wait
  let page = empty
  for (let left = wait; left > 0 && page.events === ''; left = until - performance.now()) {
    const { run, next } = await service.get(call.principal, id)
    if (isFinished(run.status) && page.cursor >= next - 1) return page
    const options = { countsAsSubscriber: true }
    if (!(await service.waitForMore(call.principal, id, page.cursor, left, call.signal, options))) return page
    page = await read(id, page.cursor)
  }
  return page
}
