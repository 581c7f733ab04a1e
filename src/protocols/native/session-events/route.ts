/** `GET /native/sessions/{id}/events`: a conversation across its runs, as server-sent events or in pages with long-polling. */
import { systemClock } from '../../../core/ports/clock.ts'
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Service } from '../../../core/service.ts'
import type { HttpResponse } from '../../../http/exchange.ts'
import { ISOLATION_HEADERS, respondText } from '../../../http/respond.ts'
import type { Call } from '../../../http/route.ts'
import { encodeFrame, encodeRetry, HEARTBEAT } from '../../../sse/index.ts'
import { toProblem } from '../wire/errors.ts'
import { readNumber } from '../../../http/read-number.ts'
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

/** The next events, or none after the wait; `cursor` is for the next request either way. */
async function page(call: Call, service: Service, follower: SessionFollower): Promise<void> {
  const limit = readNumber(call.query, 'limit', service.limits.maxPageEvents, 1)
  const wait = readNumber(call.query, 'wait', service.limits.longPollTimeoutMs, 0, 0)
  const until = performance.now() + wait
  let batch = await follower.next(limit)
  while (batch === undefined && performance.now() < until && !call.signal.aborted && !service.closed) {
    await follower.wait(Math.min(service.limits.pollIntervalMs, until - performance.now()), call.signal)
    await follower.refresh()
    batch = await follower.next(limit)
  }
  const events =
    batch !== undefined && 'records' in batch ? batch.records.map(({ envelope }) => envelope).join(',') : ''
  const gap =
    batch !== undefined && 'earliest' in batch
      ? `,"gap":${JSON.stringify({ run: batch.run, earliest: batch.earliest })}`
      : ''
  const body = `{"events":[${events}],"cursor":${JSON.stringify(follower.cursor)}${gap}}`
  respondText(call.response, 200, 'application/json; charset=utf-8', body)
}

async function stream(call: Call, service: Service, follower: SessionFollower): Promise<void> {
  const { response, principal, signal } = call
  const release = service.holdStream(principal)
  const unwatch = service.onCredentialEnd(principal, () => response.destroy())
  response.once('close', () => (release(), unwatch()))
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    ...ISOLATION_HEADERS,
  })
  const { pollIntervalMs, heartbeatIntervalMs, retryDelayMs, maxPageEvents, subscriberStallTimeoutMs } = service.limits
  // A client that has no event yet learns where it is.
  const opening = `${encodeRetry(retryDelayMs)}id: ${follower.cursor}\nevent: stream.progress\ndata: {}\n\n`
  response.write(opening)
  let spoken = performance.now()
  try {
    while (!signal.aborted && !service.closed) {
      const batch = await follower.next(maxPageEvents)
      const text = batch === undefined ? '' : framesOf(batch, follower)
      if (text !== '') {
        spoken = performance.now()
        if (!response.write(text)) await drained(response, subscriberStallTimeoutMs)
        continue
      }
      if (performance.now() - spoken >= heartbeatIntervalMs) {
        spoken = performance.now()
        response.write(HEARTBEAT)
      }
      await follower.wait(Math.min(pollIntervalMs, heartbeatIntervalMs), signal)
      await follower.refresh()
    }
    response.end(encodeFrame({ event: 'stream.closing', data: { reason: 'draining', cursor: follower.cursor } }))
  } catch (cause) {
    const error = isHoldfastError(cause)
      ? cause
      : new HoldfastError('internal', 'failed to read the session', { cause })
    response.end(encodeFrame({ event: 'stream.failed', data: JSON.parse(toProblem(error, '').body) as object }))
  }
}

/** Each event moves the cursor past itself alone. */
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

/** Disconnects a client that reads nothing. */
async function drained(response: HttpResponse, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => response.destroy(), timeoutMs)
    const done = (): void => (clearTimeout(timer), resolve())
    response.on('drain', done)
    response.on('close', done)
  })
}
