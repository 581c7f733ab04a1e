/** One request for events of a run: a stream, or a page. */
import type { LoggedEvent } from '../core/model/event.ts'
import { isTerminalType } from '../core/structure/run-status.ts'
import { checksumOf } from '../sse/checksum.ts'
import type { ParsedEvent } from '../sse/parse.ts'
import { eventsIn, piecesOf } from '../sse/read.ts'
import { type Backoff, sleep } from './backoff.ts'
import { ApiError, ClientError, ConnectionError, GapError, LogChangedError } from './errors.ts'
import {
  type ResponseCheck,
  foreignAnswer,
  isTransient,
  connectionFailure,
  type Request,
  type Transport,
} from './transport.ts'
import { Watchdog } from './watchdog.ts'
import type { FollowOptions, Page, Position, SnapshotFrame } from './follow.ts'

/** A connection that lasted this long was good, even if it delivered nothing. */
const STEADY_MS = 2000

/** Minimum duration of an empty page. */
const EMPTY_PAGE_MS = 250

const isPage: ResponseCheck = ({ events, cursor, done }) =>
  Array.isArray(events) && typeof cursor === 'number' && typeof done === 'boolean'

export interface PageBounds {
  /** Maximum events; the server has a limit of its own. */
  readonly limit?: number
  readonly idleTimeoutMs?: number
}

/** One request for events. */
export class Connection {
  /** The server reported the end of the log. */
  done = false
  /** It ended with a server notice that asks the client to reconnect. */
  shouldReconnect = false
  /** The connection was idle for too long after it had started. */
  silent = false
  #openedAt: number | undefined
  readonly #transport: Transport
  readonly #position: Position
  readonly #options: FollowOptions
  readonly #backoff: Backoff

  constructor(transport: Transport, position: Position, options: FollowOptions, backoff: Backoff) {
    this.#transport = transport
    this.#position = position
    this.#options = options
    this.#backoff = backoff
  }

  get wasSteady(): boolean {
    return !this.silent && this.#openedAt !== undefined && performance.now() - this.#openedAt >= STEADY_MS
  }

  async *stream(): AsyncGenerator<LoggedEvent> {
    const watchdog = new Watchdog(this.#transport.idleTimeoutMs, this.#options.signal)
    const request = this.#request({ format: 'sse' })
    try {
      const response = await this.#transport.open(request, watchdog)
      this.#openedAt = performance.now()
      if (response.status === 204) return await this.#confirmEnd(response)
      const type = response.headers.get('content-type') ?? ''
      if (response.body === null || !type.startsWith('text/event-stream'))
        throw foreignAnswer(response, request.path, this.#position.run, await watchdog.wait(response.text()))
      this.#alive()
      for await (const frame of this.#frames(response.body, watchdog)) {
        const event = this.#take(frame)
        if (event !== undefined) yield event
      }
    } catch (cause) {
      throw asPosition(connectionFailure(cause, request, watchdog), this.#position)
    } finally {
      this.silent = watchdog.silent && this.#openedAt !== undefined
      watchdog.close()
    }
  }

  /** The events after the cursor, or those that arrive within the wait. */
  async *page(waitMs = this.#transport.idleTimeoutMs / 2, bounds: PageBounds = {}): AsyncGenerator<LoggedEvent> {
    const since = performance.now()
    const before = this.#position.cursor
    const query = { wait: Math.floor(waitMs), limit: bounds.limit }
    const { events, cursor, done, snapshot } = await this.#read(query, bounds.idleTimeoutMs)
    if (snapshot !== undefined) this.#begin(snapshot)
    else if (this.#position.start !== undefined) this.#move((events[0]?.index ?? cursor + 1) - 1)
    for (const event of events) if (this.#admit(event)) yield event
    if (this.#position.selection !== undefined && cursor > this.#position.cursor) this.#move(cursor)
    this.done = done
    // Do not poll a server again immediately if it ignores the wait.
    const rest = Math.min(waitMs, EMPTY_PAGE_MS) - (performance.now() - since)
    if (this.#position.cursor === before && !done && rest > 0) await sleep(rest, this.#options.signal)
  }

  /** Whether there are events after the cursor; undefined if that cannot be determined now. */
  async hasNewEvents(): Promise<boolean | undefined> {
    try {
      const { events } = await this.#read({ wait: 0, limit: 1 })
      return events.length > 0 || this.#position.start !== undefined
    } catch (cause) {
      if (cause instanceof GapError || cause instanceof LogChangedError) return false // the next connection reports it
      if (cause instanceof ClientError && isTransient(cause)) return undefined
      throw cause
    }
  }

  /** 204 means that the reader has the whole log. Proxies send it too, so verify with the log. */
  async #confirmEnd(response: Response): Promise<void> {
    const { events, done } = await this.#read({ wait: 0, limit: 1 })
    this.done = done && events.length === 0
    if (!this.done) throw foreignAnswer(response, this.#request({}).path, this.#position.run, '')
  }

  #alive(): void {
    this.#backoff.alive()
    this.#options.onActivity?.()
  }

  async #read(query: NonNullable<Request['query']>, idleTimeoutMs = this.#transport.idleTimeoutMs): Promise<Page> {
    try {
      const page = await this.#transport.once<Page>({ ...this.#request({ format: 'json', ...query }), idleTimeoutMs })
      this.#alive()
      if (page.earliest !== undefined && this.#position.cursor < page.earliest - 1)
        throw new GapError(this.#position.run, page.earliest)
      return page
    } catch (cause) {
      throw asPosition(cause, this.#position)
    }
  }

  #request(query: NonNullable<Request['query']>): Request {
    const { run, selection = {} } = this.#position
    const selected = { types: selection.types?.join(','), actors: selection.actors?.join(',') }
    return {
      path: `/runs/${encodeURIComponent(run)}/events`,
      query: { ...query, ...selected, ...startOf(this.#position) },
      signal: this.#options.signal,
      run,
      validate: isPage,
    }
  }

  #frames(body: ReadableStream<Uint8Array>, watchdog: Watchdog): AsyncGenerator<ParsedEvent> {
    const pieces = piecesOf(body, async (piece) => {
      const received = await watchdog.wait(piece)
      this.#alive()
      return received
    })
    return eventsIn(pieces, { fatal: true, retry: (milliseconds) => this.#backoff.suggest(milliseconds) })
  }

  /** The event of a frame; undefined for a duplicate or a control frame. */
  #take(frame: ParsedEvent): LoggedEvent | undefined {
    const { event, data } = frame
    const message = JSON.parse(data) as Record<string, unknown>
    if (!event.startsWith('stream.')) {
      if (!this.#admit(message)) return undefined
      this.#position.frame = frame
      return message
    }
    const { run } = this.#position
    if (event === 'stream.snapshot') this.#begin(message as unknown as SnapshotFrame, frame.id)
    if (event === 'stream.progress') this.#move(Number(message['cursor']), frame.id)
    if (event === 'stream.gap' && this.#position.cursor < Number(message['earliest']) - 1)
      throw new GapError(run, Number(message['earliest']))
    if (event === 'stream.closing') {
      this.#backoff.suggest(message['retryMs'])
      throw new ConnectionError(`run ${run}: the server closed the stream: ${String(message['reason'])}`, { run })
    }
    if (event !== 'stream.failed') return undefined
    this.shouldReconnect = message['retryable'] === true
    throw new ApiError(String(message['message']), {
      code: String(message['code']),
      status: 200,
      retryable: this.shouldReconnect,
      details: message['details'],
      run,
    })
  }

  #begin(snapshot: SnapshotFrame, id?: string): void {
    this.#move(snapshot.cursor, id)
    this.done = isTerminalType(`run.${snapshot.structure.lifecycle.status}`)
    this.#options.onSnapshot?.(snapshot)
  }

  /** The server moved the cursor without an event. */
  #move(cursor: number, id?: string): void {
    const position = this.#position
    if (!Number.isInteger(cursor) || (cursor < position.cursor && position.start === undefined))
      throw new ConnectionError(`run ${position.run}: the server moved the cursor from ${position.cursor} to ${cursor}`)
    position.cursor = cursor
    position.start = undefined
    delete position.moved
    if (id !== undefined) position.moved = id
  }

  /** The log has no gaps and no duplicates (LOG-1): anything else was lost, duplicated or reordered in transit. */
  #admit(event: unknown): event is LoggedEvent {
    const position = this.#position
    if (!isEvent(event))
      throw new ConnectionError(`received a malformed event after event ${position.cursor} of run ${position.run}`)
    const { run, index } = event
    if (run !== position.run || (index > position.cursor + 1 && position.selection === undefined))
      throw new ConnectionError(
        `event ${index} of run ${run} cannot follow event ${position.cursor} of run ${position.run}`,
      )
    if (index <= position.cursor) return false
    position.cursor = index
    position.start = undefined
    return true
  }
}

function startOf(position: Position): NonNullable<Request['query']> {
  const { start, cursor } = position
  if (start === undefined) return { after: cursor < 0 ? undefined : cursorText(position) }
  return start === 'snapshot' ? { snapshot: 1 } : { tail: start.tail }
}

/** The structure that every event has. `data` is up to the event's type. */
function isEvent(value: unknown): value is LoggedEvent {
  if (typeof value !== 'object' || value === null) return false
  const { run, index, type, data } = value as Record<string, unknown>
  return (
    typeof run === 'string' &&
    Number.isInteger(index) &&
    typeof type === 'string' &&
    typeof data === 'object' &&
    data !== null
  )
}

/** The cursor as the server reads it, with the checksum of its record if that came as a frame. */
function cursorText({ cursor, frame, moved }: Position): string {
  if (moved?.startsWith(`${cursor}~`) === true) return moved
  if (frame === undefined || frame.id !== String(cursor)) return String(cursor)
  const record = `id: ${frame.id}\nevent: ${frame.event}\ndata: ${frame.data}\n\n`
  return `${cursor}~${checksumOf(new TextEncoder().encode(record))}`
}

function asPosition(cause: unknown, { run, cursor }: Position): unknown {
  if (!(cause instanceof ApiError)) return cause
  if (cause.code === 'log_changed') return new LogChangedError(run, cause)
  if (cause.code !== 'cursor_expired') return cause
  const { earliest } = (cause.details ?? {}) as { readonly earliest?: unknown }
  // Without progress this would repeat the same request forever.
  return typeof earliest === 'number' && cursor < earliest - 1 ? new GapError(run, earliest) : cause
}
