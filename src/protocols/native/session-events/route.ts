/** `GET /native/sessions/{id}/events`: a conversation across its runs, as server-sent events or in pages with long-polling. */
import { systemClock } from '../../../core/ports/clock.ts'
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Limits } from '../../../core/model/limits.ts'
import type { Service } from '../../../core/service.ts'
import { ResponseBackpressure } from '../../../http/response/response-backpressure.ts'
import { OpenCall } from '../../../http/response/open-call.ts'
import { ISOLATION_HEADERS, respondText } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import { encodeFrame, encodeRetry, HEARTBEAT } from '../../../sse/index.ts'
import { toProblem } from '../wire/errors.ts'
import { readNumber } from '../../../http/request/read-number.ts'
import { beginning, decodeCursor } from './cursor.ts'
import { type Batch, SessionFollower } from './follower.ts'

export async function serve(call: Call, service: Service): Promise<void> {
  const { principal, query, params, request } = call
  const after = request.headers['last-event-id']?.toString() ?? query.get('after') ?? undefined
  const cursor = after === undefined || after === 'end' ? beginning : decodeCursor(after)
  const follower = new SessionFollower(
    { service, principal, session: params['id']!, now: () => systemClock.now() },
    cursor,
  )
  try {
    if (after === 'end') await follower.skip()
    await follower.refresh()
    const isStream = (request.headers.accept ?? '').includes('text/event-stream') || query.get('format') === 'sse'
    await (isStream ? stream(call, service, follower) : page(call, service, follower))
  } finally {
    follower.close()
  }
}

/** Responds with the next events, or with none after the wait; `cursor` is for the next request either way. */
async function page(call: Call, service: Service, follower: SessionFollower): Promise<void> {
  const limit = readNumber(call.query, 'limit', service.limits.maxPageEvents, 1)
  const wait = readNumber(call.query, 'wait', service.limits.longPollTimeoutMs, 0, 0)
  const batch =
    (await follower.next(limit)) ?? (wait > 0 ? await longPoll(call, service, follower, { limit, wait }) : undefined)
  const events =
    batch !== undefined && 'records' in batch ? batch.records.map(({ envelope }) => envelope).join(',') : ''
  const gap =
    batch !== undefined && 'earliest' in batch
      ? `,"gap":${JSON.stringify({ run: batch.run, earliest: batch.earliest })}`
      : ''
  const body = `{"events":[${events}],"cursor":${JSON.stringify(follower.cursor)}${gap}}`
  respondText(call.response, 200, 'application/json; charset=utf-8', body)
}

async function longPoll(
  call: Call,
  service: Service,
  follower: SessionFollower,
  { limit, wait }: { readonly limit: number; readonly wait: number },
): Promise<Batch | undefined> {
  const held = new OpenCall(call, service)
  const until = performance.now() + wait
  try {
    while (performance.now() < until && !held.signal.aborted && !service.isClosed) {
      await follower.wait(Math.min(service.limits.pollIntervalMs, until - performance.now()), held.signal)
      held.assertCurrent()
      await follower.refresh()
      const batch = await follower.next(limit)
      if (batch !== undefined) return batch
    }
    return undefined
  } finally {
    held.release()
  }
}

async function stream(call: Call, service: Service, follower: SessionFollower): Promise<void> {
  const { response, principal, params } = call
  await service.startReadingSession(principal, params['id']!)
  const held = new OpenCall(call, service)
  response.once('close', () => held.release())
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    ...ISOLATION_HEADERS,
  })
  try {
    await deliver(call, service, follower, held.signal)
    held.assertCurrent()
    response.end(encodeFrame({ event: 'stream.closing', data: { reason: 'draining', cursor: follower.cursor } }))
  } catch (cause) {
    const error = isHoldfastError(cause)
      ? cause
      : new HoldfastError('internal', 'failed to read the session', { cause })
    response.end(encodeFrame({ event: 'stream.failed', data: JSON.parse(toProblem(error, '').body) as object }))
  }
}

/** Streams until the signal aborts or the server drains. */
async function deliver(call: Call, service: Service, follower: SessionFollower, signal: AbortSignal): Promise<void> {
  const { pollIntervalMs, heartbeatIntervalMs, retryDelayMs, subscriberStallTimeoutMs } = service.limits
  const client = new ResponseBackpressure(call.response, subscriberStallTimeoutMs, signal)
  // Gives a client without events its position.
  await client.write(`${encodeRetry(retryDelayMs)}id: ${follower.cursor}\nevent: stream.progress\ndata: {}\n\n`)
  let spoken = performance.now()
  while (!signal.aborted && !service.isClosed) {
    const batch = await follower.next(eventsAtOnce(service.limits, follower.cursor))
    const isSilent = performance.now() - spoken >= heartbeatIntervalMs
    const text = batch === undefined ? (isSilent ? HEARTBEAT : '') : framesOf(batch, follower)
    if (text !== '') {
      spoken = performance.now()
      await client.write(text)
    }
    if (batch !== undefined) continue
    await follower.wait(Math.min(pollIntervalMs, heartbeatIntervalMs), signal)
    if (!signal.aborted) await follower.refresh()
  }
}

/** Each event has a cursor with all unfinished runs, so a session with many writes fewer events at once. */
function eventsAtOnce({ maxPageEvents, maxReadBytes }: Limits, cursor: string): number {
  return Math.max(1, Math.min(maxPageEvents, Math.floor(maxReadBytes / cursor.length)))
}

/** Each event has the cursor right after itself. */
function framesOf(batch: Batch, follower: SessionFollower): string {
  if ('earliest' in batch)
    return `id: ${follower.cursor}\n${encodeFrame({ event: 'stream.gap', data: { run: batch.run, earliest: batch.earliest } })}`
  const { records, run } = batch
  return records
    .map(({ index, type, envelope }, position) => {
      const id = position === records.length - 1 ? follower.cursor : follower.cursorAt(run, index)
      return `id: ${id}\nevent: ${type}\ndata: ${envelope}\n\n`
    })
    .join('')
}
