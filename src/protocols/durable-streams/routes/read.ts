/** `GET` and `HEAD`: catch-up, long-poll and server-sent events. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Slice } from '../../../core/model/slice.ts'
import { ISOLATION_HEADERS, respondText } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import { header, wrong } from '../requests/headers.ts'
import { type Pieces, piecesOf, type Readable } from '../view/readable.ts'
import { isJson, joinContents } from '../wire/content.ts'
import { eventsFormat } from '../wire/events.ts'
import { nextCursor, parseOffset, toOffset } from '../wire/offsets.ts'
import type { OpenStreams } from './streams.ts'

const START = '-1'
const NOW = 'now'

const compress = promisify(gzip)
/** Smaller bodies are not compressed. */
const COMPRESSED_BYTES_MIN = 1024

interface ReadParts extends OpenStreams {
  readonly readable: Readable
  /** Reads the stream's state again: it may have ended meanwhile. */
  readonly again: () => Promise<Readable>
}

export async function serveRead(call: Call, parts: ReadParts): Promise<void> {
  const offsets = call.query.getAll('offset')
  const live = call.query.get('live')
  const [offset] = offsets
  if (offsets.length > 1) throw wrong('offset is given more than once')
  if (live !== null && live !== 'long-poll' && live !== 'sse') throw wrong('live is long-poll or sse')
  if (live !== null && offset === undefined) throw wrong('a live read needs an offset')
  const { stored, tail } = parts.readable
  const isNow = offset === NOW
  const from = offset === undefined || offset === START ? stored.first : isNow ? tail : parseOffset(offset)
  if (live === 'sse') return serveEvents(call, parts, from)
  if (live === 'long-poll') return servePoll(call, parts, from)
  if (!isNow) return servePage(call, parts.readable, await readPage(call, parts, from), from)
  const page = { pieces: [], next: tail, isEnd: parts.readable.isClosed }
  return send(call, parts.readable, page, { 'cache-control': 'no-store' })
}

async function serveEvents(call: Call, { service, streams, clock, readable }: ReadParts, from: number): Promise<void> {
  const cursor = call.query.get('cursor')
  const format = eventsFormat(readable, { from, cursor, now: () => clock.now() })
  if (readable.isClosed && from === readable.stored.next) {
    // A subscription would wait forever.
    const headers = { ...format.headers, 'cache-control': 'no-cache' }
    return respondText(call.response, 200, format.contentType, format.preamble, headers)
  }
  await streams.serve(call.response, format, (sink) =>
    service.subscribe(call.principal, readable.stored, from - 1, sink),
  )
}

/** Responds with stored data, or with new data within the poll timeout. */
async function servePoll(call: Call, parts: ReadParts, from: number): Promise<void> {
  const { service, clock } = parts
  const { principal, signal, response } = call
  const cursor = { 'stream-cursor': nextCursor(clock.now(), call.query.get('cursor')), 'cache-control': 'no-store' }
  let page = await readPage(call, parts, from)
  let { readable } = parts
  if (isEmpty(page) && !page.isEnd && !readable.isClosed) {
    const { id } = readable.stored.run
    const timeoutMs = service.limits.longPollTimeoutMs
    const options = { countsAsSubscriber: true }
    if (await service.waitForMore(principal, id, page.next - 1, timeoutMs, signal, options)) {
      readable = await parts.again()
      page = await readPage(call, { ...parts, readable }, page.next)
    }
  }
  if (!isEmpty(page)) return send(call, readable, page, cursor)
  const headers = { ...stateHeaders(readable, page), ...cursor }
  response.writeHead(204, { ...COMMON, ...headers }).end()
}

async function readPage({ principal }: Call, { service, readable }: ReadParts, from: number): Promise<Pieces> {
  const slice: Slice | undefined = await service.read(principal, readable.stored, from - 1)
  if (slice === undefined) return { pieces: [], next: from, isEnd: readable.isClosed }
  return piecesOf(slice, readable)
}

function isEmpty({ pieces }: Pieces): boolean {
  return pieces.every(({ content }) => content === undefined)
}

async function servePage(call: Call, readable: Readable, page: Pieces, from: number): Promise<void> {
  const { run } = readable.stored
  const isFinal = page.isEnd || page.next < readable.tail
  const tag = `"${run.id}:${from}:${page.next}${page.isEnd ? ':closed' : ''}"`
  // Stored data never changes; the tail does. Private, because only the owner may read a stream.
  const headers = { etag: tag, 'cache-control': isFinal ? 'private, max-age=31536000, immutable' : 'private, no-cache' }
  const known = (header(call.request, 'if-none-match') ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''))
  if (!known.includes(tag) && !known.includes('*')) return send(call, readable, page, headers)
  call.response.writeHead(304, { ...COMMON, ...stateHeaders(readable, page), ...headers }).end()
}

const COMMON = { 'x-content-type-options': 'nosniff', ...ISOLATION_HEADERS }

function stateHeaders(readable: Readable, { next, isEnd }: Pieces): Record<string, string> {
  return {
    'stream-next-offset': toOffset(next),
    ...((isEnd || next >= readable.tail) && { 'stream-up-to-date': 'true' }),
    ...(isEnd && { 'stream-closed': 'true' }),
  }
}

async function send(call: Call, readable: Readable, page: Pieces, more: Record<string, string>): Promise<void> {
  const { contentType } = readable
  const contents = page.pieces.flatMap(({ content }) => content ?? [])
  const plain = joinContents(contents, contentType)
  const isCompressed = plain.length >= COMPRESSED_BYTES_MIN && takesGzip(call)
  const body = isCompressed ? await compress(plain) : plain
  call.response.writeHead(200, {
    ...COMMON,
    'content-type': isJson(contentType) ? 'application/json' : contentType,
    'content-length': String(body.length),
    vary: 'Origin, Accept-Encoding',
    ...(isCompressed && { 'content-encoding': 'gzip' }),
    ...stateHeaders(readable, page),
    ...more,
  })
  call.response.end(body)
}

function takesGzip({ request }: Call): boolean {
  const accepted = (header(request, 'accept-encoding') ?? '').split(',').map((each) => each.trim().toLowerCase())
  return accepted.some((each) => /^gzip(?!.*q=0(\.0*)?$)/.test(each))
}

/** Does not count as an access. */
export function serveHead({ response }: Call, readable: Readable): void {
  const { contentType, tail, isClosed, config } = readable
  response
    .writeHead(200, {
      ...COMMON,
      'content-type': contentType,
      'cache-control': 'no-store',
      'stream-next-offset': toOffset(tail),
      ...(isClosed && { 'stream-closed': 'true' }),
      ...(config?.ttl !== undefined && { 'stream-ttl': String(config.ttl) }),
      ...(config?.expiresAt !== undefined && { 'stream-expires-at': config.expiresAt }),
    })
    .end()
}
