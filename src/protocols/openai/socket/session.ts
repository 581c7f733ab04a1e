/** One WebSocket connection to `/v1/responses`. */
import { isObject } from '../../../core/model/is-object.ts'
import type { RawData, WebSocket } from 'ws'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import type { Service } from '../../../core/service.ts'
import { toClientError } from '../../../http/response/client-error.ts'
import { parseJson } from '../../../http/request/json.ts'
import { logFailure } from '../../../http/response/log-failure.ts'
import { keepAlive } from '../../../http/socket/heartbeat.ts'
import { SocketInbox } from '../../../http/socket/inbox.ts'
import { closeCodes, SocketOutbox } from '../../../http/socket/outbox.ts'
import type { SocketPeer } from '../../../http/socket/server.ts'
import type { UpgradeCall } from '../../../http/socket/upgrade.ts'
import type { Requester } from '../requests/request.ts'
import { beginResponse } from '../responses/create.ts'
import { responseKind } from '../responses/projection.ts'
import { refusal, toErrorObject } from '../wire/errors.ts'
import { toResponseId } from '../wire/ids.ts'
import { type FeedEnd, ResponseFeed } from './feed.ts'
import { ResponseQueues } from './response-queues.ts'

export interface ResponsePeer extends Pick<Requester, 'principal' | 'request'> {
  readonly logger: Logger
  readonly admit: UpgradeCall['admit']
  /** Maximum lifetime of the connection. */
  readonly lifetimeMs: number
}

type Message = Readonly<Record<string, unknown>>

/** Maximum responses with `store: false` that a connection remembers. */
const KEPT_MAX = 100
const STREAM_ID_CHARS_MAX = 256

export class ResponseSession implements SocketPeer {
  readonly #socket: WebSocket
  readonly #service: Service
  readonly #peer: ResponsePeer
  readonly #outbox: SocketOutbox
  readonly #queues = new ResponseQueues()
  readonly #feeds = new Set<ResponseFeed>()
  readonly #gone = new AbortController()
  /** Ids of responses with `store: false`. */
  readonly #kept = new Set<string>()

  constructor(socket: WebSocket, service: Service, peer: ResponsePeer) {
    this.#socket = socket
    this.#service = service
    this.#peer = peer
    this.#outbox = new SocketOutbox(socket, service.limits.subscriberStallTimeoutMs)
    const inbox = new SocketInbox(socket, this.#outbox, (message) => this.#receive(message))
    keepAlive(socket, this.#outbox, service.limits.heartbeatIntervalMs)
    const lifetime = setTimeout(() => this.#expire(), peer.lifetimeMs)
    const unwatch = service.onCredentialEnd(peer.principal, () =>
      this.#outbox.disconnect(closeCodes.policyViolation, 'the credential expired or was revoked'),
    )
    socket.on('message', (data: RawData) => Buffer.isBuffer(data) && inbox.push(data))
    socket.on('error', () => {}) // `close` follows
    socket.on('close', () => {
      clearTimeout(lifetime)
      unwatch()
      this.#gone.abort()
      this.#queues.clear()
      for (const feed of this.#feeds) feed.close('aborted')
    })
  }

  /** Closes the connection. Clients reconnect and retrieve what they missed. */
  close(reason: string): void {
    this.#socket.close(1001, reason)
  }

  async #receive(message: Buffer): Promise<void> {
    let streamId: string | undefined
    try {
      const given = parseJson(message.toString(), 'the message')
      if (!isObject(given)) throw refusal('a message must be a JSON object')
      streamId = streamIdIn(given)
      this.#peer.admit(this.#peer.principal)
      this.#take(given, streamId)
    } catch (cause) {
      this.#fail(cause, streamId)
    }
  }

  #take(given: Message, streamId: string | undefined): void {
    const { type, stream_id: _streamId, ...body } = given
    if (type === 'response.create') return this.#queues.add(streamId, () => this.#create(body, streamId))
    if (type === 'response.steer') return this.#refuseSteering(given, streamId)
    throw refusal('type must be response.create', { param: 'type' })
  }

  /** Serves one request. Resolves when the response has ended. */
  async #create(body: Message, streamId: string | undefined): Promise<void> {
    const previous = body['previous_response_id']
    try {
      const end = await this.#respond(body, streamId)
      if (end !== 'completed') this.#evict(previous)
      // The log could not be read.
      if (end === 'aborted') throw new HoldfastError('unavailable', 'the stream was cut off: retrieve the response')
    } catch (cause) {
      this.#evict(previous)
      this.#fail(cause, streamId)
    }
  }

  async #respond(body: Message, streamId: string | undefined): Promise<FeedEnd> {
    if (body['background'] === true)
      throw refusal(
        'background is not supported on a WebSocket: every response continues after its client disconnects',
        {
          param: 'background',
        },
      )
    const { principal, request } = this.#peer
    const requester = { principal, request, signal: this.#gone.signal }
    const given = { ...body, stream: true }
    const { part, run, policy } = await beginResponse(requester, this.#service, given, (id) => this.#kept.has(id))
    if (body['store'] === false) this.#keep(toResponseId(part))
    const view = this.#service.views.open({ run, first: 0 }, responseKind(part.number))
    const feed = new ResponseFeed({ view, streamId, outbox: this.#outbox })
    this.#feeds.add(feed)
    if (this.#gone.signal.aborted) feed.close('aborted')
    try {
      await feed.open(this.#service, principal)
      const end = await feed.ended
      if (policy === 'stop' && this.#gone.signal.aborted && !this.#service.isClosed)
        await this.#service.stop(principal, part.run, 'the client disconnected')
      return end
    } finally {
      this.#feeds.delete(feed)
    }
  }

  #keep(id: string): void {
    this.#kept.add(id)
    if (this.#kept.size > KEPT_MAX) this.#kept.delete(this.#kept.values().next().value!)
  }

  /** Forgets a failed response, which cannot be continued. */
  #evict(previous: unknown): void {
    if (typeof previous === 'string') this.#kept.delete(previous)
  }

  #refuseSteering({ previous_response_id: previous, input }: Message, streamId: string | undefined): void {
    const message = 'this server cannot steer a response: cancel it and create another'
    this.#send(
      {
        type: 'response.steer.failed',
        error: { code: 'steering_not_supported', message },
        steer: { previous_response_id: previous, input },
      },
      streamId,
    )
  }

  #fail(cause: unknown, streamId: string | undefined): void {
    if (this.#gone.signal.aborted) return // the client has disconnected
    const errorId = crypto.randomUUID()
    const error = toClientError(cause, errorId)
    logFailure(this.#peer.logger, error, { errorId, protocol: 'openai websocket' })
    this.#send({ type: 'error', status: error.status, error: toErrorObject(error) }, streamId)
  }

  #expire(): void {
    const error = new HoldfastError('unavailable', 'this connection has reached its maximum age: open another one', {
      details: { openai: { code: 'websocket_connection_limit_reached' } },
    })
    this.#send({ type: 'error', status: 400, error: toErrorObject(error) }, undefined)
    this.#socket.close(1000, 'websocket_connection_limit_reached')
  }

  #send(message: object, streamId: string | undefined): void {
    this.#outbox.send(JSON.stringify(streamId === undefined ? message : { ...message, stream_id: streamId }))
  }
}

function streamIdIn({ stream_id: streamId }: Message): string | undefined {
  if (streamId === undefined || streamId === null) return undefined
  if (typeof streamId === 'string' && streamId !== '' && streamId.length <= STREAM_ID_CHARS_MAX) return streamId
  throw refusal(`stream_id must be a string of 1 to ${STREAM_ID_CHARS_MAX} characters`, { param: 'stream_id' })
}
