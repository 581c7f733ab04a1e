/** `PUT`: creates a stream, empty, with content, or as a fork of another one. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Limits } from '../../../core/model/limits.ts'
import type { Principal } from '../../../core/model/principal.ts'
import { events } from '../../../core/model/slice.ts'
import type { Service } from '../../../core/service.ts'
import type { HttpRequest } from '../../../http/exchange.ts'
import { appendedIn, FIRST_APPEND } from '../view/stream-state.ts'
import { type Content, firstPart, isJson, mediaType, toContent } from '../wire/content.ts'
import { streamError } from '../wire/errors.ts'
import { parseOffset } from '../wire/offsets.ts'
import { header, isSet, readLifetime, wholeNumber, wrong } from './headers.ts'
import {
  type ClientStreams,
  type Fork,
  keyOf,
  type KnownStream,
  STREAM_COMPONENT,
  type StreamConfig,
} from './streams.ts'

interface CreateRequest {
  readonly principal: Principal
  readonly request: HttpRequest
  readonly name: string
  readonly body: Buffer
  /** Path of the protocol. Source streams are named relative to it. */
  readonly path: string
}

const DEFAULT_TYPE = 'application/octet-stream'
const TRIES_MAX = 3

/** `isNew`: false if the stream existed with the same configuration. */
export async function createStream(
  service: Service,
  streams: ClientStreams,
  { principal, request, name, body, path }: CreateRequest,
): Promise<{ readonly stream: KnownStream; readonly isNew: boolean }> {
  // A caller that may only read must not learn whether the stream exists.
  await service.clientLogs.permitCreate(principal, STREAM_COMPONENT)
  const closes = isSet(request, 'stream-closed')
  const asked = readLifetime(request)
  const type = header(request, 'content-type')
  const source = await sourceOf(service, streams, principal, request, path, type)
  const contentType = source === undefined ? (type ?? DEFAULT_TYPE) : source.stream.config.contentType
  const inherited = asked.ttl === undefined && asked.expiresAt === undefined && source !== undefined
  const { ttl, expiresAt } = inherited ? source.stream.config : asked
  const first = body.length === 0 ? [] : [toContent(body, contentType)].filter(hasMessages)
  const [content] = first
  if (content !== undefined) storedBytes(content, service.limits)
  const records =
    (source?.fork.next ?? FIRST_APPEND) + (source?.part === undefined ? 0 : 1) + first.length + (closes ? 2 : 0)
  const config: StreamConfig = {
    name,
    contentType,
    records,
    ...(ttl !== undefined && { ttl }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(source !== undefined && { fork: source.fork }),
  }
  async function* contents(): AsyncGenerator<readonly Content[]> {
    if (source !== undefined) {
      yield* inheritedOf(service, principal, source.stream, source.fork.next)
      if (source.part !== undefined) yield [source.part]
    }
    if (first.length > 0) yield first
  }
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const known = await streams.find(principal, name)
    if (known !== undefined) {
      if (!isSame(known, config, closes)) throw streamError('conflict', 'the stream exists with another configuration')
      return { stream: known, isNew: false }
    }
    const stream = await streams.create(principal, { config, contents, closes })
    if (stream !== undefined) return { stream, isNew: true }
  }
  throw new HoldfastError('unavailable', 'the stream is being created by others: try again', { retryAfterMs: 1000 })
}

function hasMessages(content: Content): boolean {
  return !('json' in content) || content.json.length > 0
}

function isSame({ config, isClosed }: KnownStream, asked: StreamConfig, closes: boolean): boolean {
  return isClosed === closes && textOf(config) === textOf(asked)
}

function textOf({ contentType, ttl, expiresAt, fork }: StreamConfig): string {
  return JSON.stringify([mediaType(contentType), ttl, expiresAt, fork?.parent, fork?.next, fork?.part])
}

interface Source {
  readonly stream: KnownStream
  readonly fork: Fork
  /** The inherited part of a record. */
  readonly part?: Content | undefined
}

async function sourceOf(
  service: Service,
  streams: ClientStreams,
  principal: Principal,
  request: HttpRequest,
  path: string,
  type: string | undefined,
): Promise<Source | undefined> {
  const from = header(request, 'stream-forked-from')
  const at = header(request, 'stream-fork-offset')
  const partText = header(request, 'stream-fork-sub-offset')
  if (from === undefined) {
    if (at !== undefined || partText !== undefined) throw wrong('a fork needs Stream-Forked-From')
    return undefined
  }
  if (!from.startsWith(`${path}/`)) throw wrong(`Stream-Forked-From is a path below ${path}`)
  const name = from.slice(path.length + 1)
  const part = partText === undefined ? 0 : wholeNumber('Stream-Fork-Sub-Offset', partText)
  if (part > 0 && at === undefined) throw wrong('Stream-Fork-Sub-Offset needs Stream-Fork-Offset')
  const stream = await streams.get(principal, name).catch((cause: unknown) => {
    if (cause instanceof HoldfastError && cause.code === 'cursor_expired')
      throw streamError('conflict', 'the source was deleted')
    throw cause
  })
  const next = at === undefined ? stream.tail : Math.max(parseOffset(at), FIRST_APPEND)
  if (next > stream.tail) throw wrong('Stream-Fork-Offset is beyond the end of the source')
  if (type !== undefined && mediaType(type) !== mediaType(stream.config.contentType))
    throw streamError('conflict', 'a fork has the content type of its source')
  const fork = { parent: keyOf(name), next, part }
  if (part === 0) return { stream, fork }
  const [content] = next === stream.tail ? [] : (await readContents(service, principal, stream, next)).contents
  const inherited = content && firstPart(content, part)
  if (inherited === undefined) throw wrong('Stream-Fork-Sub-Offset is beyond the append at the offset')
  return { stream, fork, part: inherited }
}

async function* inheritedOf(
  service: Service,
  principal: Principal,
  stream: KnownStream,
  end: number,
): AsyncGenerator<readonly Content[]> {
  for (let next = FIRST_APPEND; next < end;) {
    const page = await readContents(service, principal, stream, next)
    yield page.contents.slice(0, end - next)
    next = page.next
  }
}

/** The appends from an index on, one read at a time. */
async function readContents(
  service: Service,
  principal: Principal,
  { stored }: KnownStream,
  from: number,
): Promise<{ readonly contents: readonly Content[]; readonly next: number }> {
  const slice = await service.read(principal, stored, from - 1)
  if (slice === undefined) throw new HoldfastError('unavailable', 'the source ended before the offset')
  const contents = events(slice).flatMap((event) => appendedIn(event)?.content ?? [])
  return { contents, next: slice.first + slice.count }
}

/** Stored size of an append, which is one event. Throws if it exceeds the limit. */
export function storedBytes(content: Content, { maxEventBytes }: Limits): number {
  const bytes = Buffer.byteLength(JSON.stringify(content))
  if (bytes <= maxEventBytes / 2) return bytes
  throw new HoldfastError('too_large', `an append takes at most ${maxEventBytes / 2} bytes in the log, not ${bytes}`)
}

/** Parses the body of an append, which must not be empty, by the stream's type. */
export function appendContent(body: Buffer, contentType: string): Content {
  const content = toContent(body, contentType)
  if (isJson(contentType) && !hasMessages(content)) throw wrong('an append needs at least one message')
  return content
}
