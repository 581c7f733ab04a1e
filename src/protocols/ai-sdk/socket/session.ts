/** One connection of a `WebSocketChatTransport`: several concurrent requests, each with numbered chunks. */
import type { RawData, WebSocket } from 'ws'
import type { Component } from '../../../core/ports/component.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import type { Principal } from '../../../core/model/principal.ts'
import { parseBody } from '../../../http/request/body-shape.ts'
import { toClientError } from '../../../http/response/client-error.ts'
import { parseJson } from '../../../http/request/json.ts'
import { logFailure } from '../../../http/response/log-failure.ts'
import { keepAlive } from '../../../http/socket/heartbeat.ts'
import { SocketInbox } from '../../../http/socket/inbox.ts'
import { closeCodes, SocketOutbox } from '../../../http/socket/outbox.ts'
import type { SocketPeer } from '../../../http/socket/server.ts'
import type { UpgradeCall } from '../../../http/socket/upgrade.ts'
import { type ChatService, isUnfinished, type ToolParts } from '../requests/chats.ts'
import { send } from '../requests/send.ts'
import type { SocketRequest } from '../requests/shapes.ts'
import type { ChatStream } from '../wire/stream.ts'
import { ChatFeed } from './feed.ts'

/** Maximum streams per connection. */
const FEEDS_MAX = 64

export interface ChatPeer {
  readonly principal: Principal
  readonly component: Component
  readonly tools: ToolParts
  readonly logger: Logger
}

export class ChatSession implements SocketPeer {
  readonly #socket: WebSocket
  readonly #chats: ChatService
  readonly #peer: ChatPeer
  readonly #admit: UpgradeCall['admit']
  readonly #outbox: SocketOutbox
  readonly #feeds = new Map<string, ChatFeed>()

  constructor(socket: WebSocket, chats: ChatService, peer: ChatPeer, call: Pick<UpgradeCall, 'admit'>) {
    this.#socket = socket
    this.#chats = chats
    this.#peer = peer
    this.#admit = call.admit
    const { service } = chats
    this.#outbox = new SocketOutbox(socket, service.limits.subscriberStallTimeoutMs)
    const inbox = new SocketInbox(socket, this.#outbox, (request) => this.#answer(request))
    keepAlive(socket, this.#outbox, service.limits.heartbeatIntervalMs)
    const unwatch = service.onCredentialEnd(peer.principal, () =>
      this.#outbox.disconnect(closeCodes.policyViolation, 'the credential expired or was revoked'),
    )
    socket.on('message', (data: RawData) => Buffer.isBuffer(data) && inbox.push(data))
    socket.on('error', () => {}) // `close` follows
    socket.on('close', () => {
      unwatch()
      for (const feed of this.#feeds.values()) feed.close()
      this.#feeds.clear()
    })
  }

  /** Closes the connection without ending its streams, so that the client resumes them. */
  close(reason: string): void {
    this.#socket.close(1001, reason)
  }

  async #answer(request: Buffer): Promise<void> {
    let requestId = ''
    try {
      const given = parseJson(request.toString(), 'the message')
      requestId = idIn(given)
      this.#admit(this.#peer.principal)
      const { socketRequest } = await import('../requests/shapes.ts')
      await this.#act(parseBody(socketRequest, given))
    } catch (cause) {
      this.#fail(requestId, cause)
    }
  }

  #fail(requestId: string, cause: unknown): void {
    const id = crypto.randomUUID()
    const error = toClientError(cause, id)
    logFailure(this.#peer.logger, error, { errorId: id, protocol: 'ai-sdk websocket' })
    // A client treats an error without a request id as a server bug, and closes.
    if (requestId === '') return this.#outbox.disconnect(closeCodes.policyViolation, error.message.slice(0, 100))
    this.#outbox.send(JSON.stringify({ type: 'error', requestId, errorText: error.message }))
  }

  async #act(request: SocketRequest): Promise<void> {
    switch (request.type) {
      case 'send':
        return this.#send(request)
      case 'resume':
        return this.#resume(request)
      case 'abort':
        return this.#abort(request.requestId)
    }
  }

  async #send({
    requestId,
    id,
    messages,
    trigger,
    messageId,
  }: Extract<SocketRequest, { type: 'send' }>): Promise<void> {
    this.#assertFree(requestId)
    const { principal, component, tools } = this.#peer
    const body = { id, messages, trigger, messageId }
    const { stream } = await send(this.#chats, { principal, component, body, tools })
    await this.#follow(requestId, stream)
  }

  async #resume({ requestId, id, lastSequence }: Extract<SocketRequest, { type: 'resume' }>): Promise<void> {
    this.#assertFree(requestId)
    const { principal, component, tools } = this.#peer
    const found = await this.#chats.find(principal, component, id)
    if (found === undefined) return this.#outbox.send(JSON.stringify({ type: 'no-active', requestId }))
    const startIndex = lastSequence === undefined ? 0 : lastSequence + 1
    const stream = await this.#chats.resume(found, { startIndex, tools })
    this.#outbox.send(JSON.stringify({ type: 'start', requestId }))
    await this.#follow(requestId, stream)
  }

  /** Handles the client's `stop()`. A lost connection does not stop the run. */
  async #abort(requestId: string): Promise<void> {
    const feed = this.#feeds.get(requestId)
    if (feed === undefined) return
    const { principal, component } = this.#peer
    feed.close()
    if (component.onDisconnect === 'continue') return
    const stored = await this.#chats.service.get(principal, feed.run)
    if (isUnfinished(stored)) await this.#chats.service.stop(principal, feed.run, 'the user stopped it')
  }

  #assertFree(requestId: string): void {
    if (this.#feeds.has(requestId)) throw new HoldfastError('conflict', `the request ${requestId} is in progress`)
    if (this.#feeds.size >= FEEDS_MAX)
      throw new HoldfastError('rate_limited', `this connection already follows ${FEEDS_MAX} streams, the maximum`)
  }

  async #follow(requestId: string, stream: ChatStream): Promise<void> {
    // The client may have disconnected while its request was handled; nothing would close the stream.
    if (!this.#outbox.isOpen) return
    const feed = new ChatFeed(this.#outbox, requestId, stream, () => this.#feeds.delete(requestId))
    this.#feeds.set(requestId, feed)
    await feed.open(this.#chats.service, this.#peer.principal)
  }
}

const REQUEST_ID_CHARS_MAX = 200

function idIn(given: unknown): string {
  const { requestId } = (given ?? {}) as { readonly requestId?: unknown }
  return typeof requestId === 'string' && requestId.length <= REQUEST_ID_CHARS_MAX ? requestId : ''
}
