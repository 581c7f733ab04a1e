/** The routes: every path below the protocol's path is a stream. A run id names the run's own log, which is read-only. */
import { HoldfastError } from '../../../core/model/errors.ts'
import { ownerKey } from '../../../core/model/principal.ts'
import { type Clock, systemClock } from '../../../core/ports/clock.ts'
import type { Service } from '../../../core/service.ts'
import { readBody } from '../../../http/request/body.ts'
import { ISOLATION_HEADERS } from '../../../http/response/respond.ts'
import type { Streams } from '../../../http/response/stream.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { appendContent, createStream, storedBytes } from '../requests/create.ts'
import { type AppendRequest, decideAppend } from '../requests/decide-append.ts'
import { header, isSet, readProducer, readSeq, wrong } from '../requests/headers.ts'
import { ClientStreams } from '../requests/streams.ts'
import { type Readable, readableRun, readableStream } from '../view/readable.ts'
import { streamKind } from '../view/stream-state.ts'
import { mediaType } from '../wire/content.ts'
import { toOffset } from '../wire/offsets.ts'
import type { WakeQueue } from '../subscriptions/wake-queue.ts'
import { serveHead, serveRead } from './read.ts'

export interface StreamParts {
  readonly service: Service
  readonly streams: Streams
  /** Default: the system's. */
  readonly clock?: Clock | undefined
  /** Path of the protocol. */
  readonly path: string
  /** Gets every write. */
  readonly queue: WakeQueue
}

export interface OpenStreams {
  readonly service: Service
  readonly streams: Streams
  readonly clock: Clock
}

const PATH = '/v1/stream/{stream*}'
const RUN = /^run_[0-9a-z]+$/i
const NAME_CHARS_MAX = 1000
/** Names below it are routes of the protocol. */
const RESERVED = /^__ds(?:\/|$)/

export function streamRoutes(streamParts: StreamParts): Route[] {
  const { service, clock = systemClock } = streamParts
  const parts = { ...streamParts, clock, known: new ClientStreams(service, clock) }
  return [
    { method: 'GET', path: PATH, handle: (call) => read(call, parts) },
    { method: 'PUT', path: PATH, handle: (call) => create(call, parts) },
    { method: 'POST', path: PATH, handle: (call) => append(call, parts) },
    { method: 'DELETE', path: PATH, handle: (call) => remove(call, parts) },
  ]
}

interface Parts extends OpenStreams {
  readonly path: string
  readonly queue: WakeQueue
  readonly known: ClientStreams
}

async function read(call: Call, parts: Parts): Promise<void> {
  const { stream: name = '' } = call.params
  const isHead = call.request.method === 'HEAD'
  refuseReserved(name)
  const find = async (): Promise<Readable> =>
    RUN.test(name)
      ? readableRun(await parts.service.startReading(call.principal, name))
      : readableStream(await parts.known.get(call.principal, name, !isHead))
  const readable = await find()
  if (isHead) return serveHead(call, readable)
  await serveRead(call, { ...parts, readable, again: find })
}

async function create(call: Call, { service, known, path, queue }: Parts): Promise<void> {
  const { principal, request, base, peer } = call
  const name = writableName(call)
  const body = await readBody(request, service.limits.maxBodyBytes)
  const { stream, isNew } = await createStream(service, known, { principal, request, name, body, path: base + path })
  if (isNew) queue.addStreams(ownerKey(principal), [name])
  const place = `${base}${path}/${name}`
  respond(call, isNew ? 201 : 200, {
    'content-type': stream.config.contentType,
    'stream-next-offset': toOffset(stream.tail),
    ...(isNew && { location: peer.host === '' ? place : `${peer.protocol}://${peer.host}${place}` }),
    ...(stream.isClosed && { 'stream-closed': 'true' }),
  })
}

async function append(call: Call, { service, known, queue }: Parts): Promise<void> {
  const { principal, request } = call
  const name = writableName(call)
  const closes = isSet(request, 'stream-closed')
  const producer = readProducer(request)
  const body = await readBody(request, service.limits.maxBodyBytes)
  const { stored, config } = await known.get(principal, name)
  const type = header(request, 'content-type')
  if (body.length === 0 && !closes) throw wrong('an append needs a body')
  if (body.length > 0 && type === undefined) throw wrong('an append needs a Content-Type')
  const hasType = type !== undefined && mediaType(type) === mediaType(config.contentType)
  const content = body.length === 0 ? undefined : appendContent(body, hasType ? config.contentType : 'text/plain')
  const bytes = content === undefined ? 0 : storedBytes(content, service.limits)
  const seq = readSeq(request)
  const asked: AppendRequest = {
    hasType,
    closes,
    ...(content !== undefined && { content }),
    ...(seq !== undefined && { seq }),
    ...(producer !== undefined && { producer }),
  }
  const result = await service.clientLogs.append(principal, stored.run.id, streamKind, {
    bytes,
    decide: (state, at) => decideAppend(asked, state, at),
  })
  if (content !== undefined && !result.isDuplicate) queue.addStreams(ownerKey(principal), [name])
  respond(call, producer === undefined || content === undefined || result.isDuplicate ? 204 : 200, {
    'stream-next-offset': toOffset(result.tail),
    ...(result.isClosed && { 'stream-closed': 'true' }),
    ...(result.producer !== undefined && {
      'producer-epoch': String(result.producer.epoch),
      'producer-seq': String(result.producer.seq),
    }),
  })
}

async function remove(call: Call, { known }: Parts): Promise<void> {
  await known.remove(call.principal, await known.get(call.principal, writableName(call), false))
  respond(call, 204)
}

function writableName({ params: { stream: name = '' }, response }: Call): string {
  if (RUN.test(name)) {
    response.setHeader('allow', 'GET, HEAD')
    throw new HoldfastError('method_not_allowed', 'a run is written by its component; its stream is for reading')
  }
  refuseReserved(name)
  if (name.length > NAME_CHARS_MAX) throw wrong(`a name has at most ${NAME_CHARS_MAX} characters`)
  return name
}

function refuseReserved(name: string): void {
  if (RESERVED.test(name)) throw new HoldfastError('not_found', 'names that begin with __ds are reserved')
}

function respond({ response }: Call, status: number, headers: Readonly<Record<string, string>> = {}): void {
  response
    .writeHead(status, {
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...ISOLATION_HEADERS,
      ...(status !== 204 && { 'content-length': '0' }),
      ...headers,
    })
    .end()
}
