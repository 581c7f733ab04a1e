/** One WebSocket connection: handles its requests and the runs it follows. Messages are JSON, one event each. */
import type { RawData, WebSocket } from 'ws'
import type { Component } from '../../../core/ports/component.ts'
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { toClientError } from '../../../http/response/client-error.ts'
import { parseJson } from '../../../http/request/json.ts'
import { logFailure } from '../../../http/response/log-failure.ts'
import { keepAlive } from '../../../http/socket/heartbeat.ts'
import { SocketInbox } from '../../../http/socket/inbox.ts'
import { closeCodes, SocketOutbox } from '../../../http/socket/outbox.ts'
import { retrySeconds } from '../../../http/response/respond.ts'
import type { UpgradeCall } from '../../../http/socket/upgrade.ts'
import { answersFrom } from '../requests/answers.ts'
import type { Family } from '../wire/families.ts'
import { type Fields, integerField, nameField, textField } from '../requests/fields.ts'
import { type FollowRequest, followFrom } from '../routes/follow.ts'
import { resumeAfter } from '../routes/resume.ts'
import { parseRunForm } from '../requests/input.ts'
import { type MetaEvent, metaEventsOf, notFound } from '../view/meta-events.ts'
import { streamPositionIn } from '../view/stream-position.ts'
import { type AgentOs, keyOfRunId } from '../requests/agent-os.ts'
import { inputText } from '../view/run-output.ts'
import { noteStart } from '../view/sessions.ts'
import { Login } from './login.ts'
import { SocketFeed } from './feed.ts'

/** Maximum runs followed per connection. */
const FEEDS_MAX = 64

/** Failed or throttled authentication attempts per connection. */
const TRIES_MAX = 5

export class SocketSession {
  readonly #socket: WebSocket
  readonly #family: Family
  readonly #os: AgentOs
  readonly #logger: Logger
  readonly #call: Pick<UpgradeCall, 'authenticate' | 'admit' | 'guarded'>
  readonly #outbox: SocketOutbox
  readonly #inbox: SocketInbox
  readonly #login: Login | undefined
  readonly #feeds = new Map<string, SocketFeed>()
  #principal: Principal | undefined
  #unwatch = (): void => {}
  #unhold = (): void => {}
  #refused = 0

  constructor(socket: WebSocket, family: Family, os: AgentOs, logger: Logger, call: UpgradeCall) {
    this.#socket = socket
    this.#family = family
    this.#os = os
    this.#logger = logger
    this.#call = call
    this.#outbox = new SocketOutbox(socket, os.service.limits.subscriberStallTimeoutMs)
    this.#inbox = new SocketInbox(socket, this.#outbox, (request) => this.#answer(request))
    if (call.guarded) this.#login = new Login(socket, call.socket, this.#outbox, os.service.limits)
    keepAlive(socket, this.#outbox, os.service.limits.heartbeatIntervalMs)
    socket.on('message', (data) => this.#receive(data))
    socket.on('error', () => {}) // `close` follows
    socket.on('close', () => this.#release())
    this.#send({
      event: 'connected',
      message: call.guarded ? 'Connected to AgentOS. Please authenticate to continue.' : 'Connected to AgentOS.',
      requires_auth: call.guarded,
    })
  }

  /** Sends the positions to resume from, and closes. */
  close(reason: string): void {
    for (const feed of this.#feeds.values()) feed.leave(reason)
    this.#socket.close(1001, reason)
  }

  #release(): void {
    this.#unwatch()
    this.#unhold()
    for (const feed of this.#feeds.values()) feed.close()
    this.#feeds.clear()
  }

  #send(message: MetaEvent): void {
    this.#outbox.send(JSON.stringify(message))
  }

  #receive(data: RawData): void {
    if (!Buffer.isBuffer(data)) return // `ws` always emits Buffers by default
    if (this.#login?.admits(data) !== false) this.#inbox.push(data)
  }

  async #answer(request: Buffer): Promise<void> {
    try {
      if (this.#principal !== undefined) this.#call.admit(this.#principal)
      await this.#act(fieldsIn(request))
    } catch (cause) {
      this.#fail(cause)
    }
  }

  #fail(cause: unknown): void {
    if (isHoldfastError(cause, 'unauthenticated')) return this.#expel(cause)
    const id = crypto.randomUUID()
    const error = toClientError(cause, id)
    logFailure(this.#logger, error, { errorId: id, protocol: 'agentos websocket' })
    const { code, retryAfterMs } = error
    const later = retryAfterMs === undefined ? {} : { retry_after: retrySeconds(retryAfterMs) }
    this.#send({ ...failure(error.message), error_type: code, ...later })
  }

  async #act(fields: Fields): Promise<void> {
    const action = textField(fields, 'action') ?? ''
    if (action === 'ping') return this.#send({ event: 'pong' })
    if (action === 'authenticate') return this.#authenticate(fields)
    if (!this.#call.guarded && this.#principal === undefined) {
      this.#principal = await this.#call.authenticate({})
      this.#watch(this.#principal)
    }
    const principal = this.#principal
    if (principal === undefined) {
      const error = 'Authentication required. Send authenticate action with valid bearer token.'
      return this.#send({ event: 'auth_required', error })
    }
    const { kind } = this.#family
    if (action === `start-${kind}`) return this.#start(principal, fields)
    if (action === `continue-${kind}`) return this.#continue(principal, fields)
    if (action === 'reconnect') return this.#reconnect(principal, fields)
    this.#send(failure(`Unknown action: ${action.slice(0, 100)}`))
  }

  async #authenticate(fields: Fields): Promise<void> {
    try {
      const bearer = textField(fields, 'token')
      const principal = await this.#call.authenticate(bearer === undefined ? {} : { bearer })
      this.#hold(principal)
      this.#principal = principal
      this.#login?.end()
      this.#watch(principal)
      const user = this.#call.guarded ? { user_id: principal.id } : {}
      this.#send({ event: 'authenticated', message: 'Authentication successful.', ...user })
    } catch (cause) {
      if (isHoldfastError(cause, 'unauthenticated'))
        this.#send({ event: 'auth_error', error: 'Invalid authentication token', error_type: cause.code })
      else this.#fail(cause)
      if (++this.#refused >= TRIES_MAX) this.#outbox.disconnect(closeCodes.policyViolation, 'too many attempts')
    }
  }

  /** An open socket counts as a stream even if it follows no run. */
  #hold(principal: Principal): void {
    const release = this.#os.service.openStream(principal)
    this.#unhold()
    this.#unhold = release
    if (this.#socket.readyState !== this.#socket.OPEN) release() // already closed
  }

  #watch(principal: Principal): void {
    this.#unwatch()
    if (this.#socket.readyState !== this.#socket.OPEN) return // already closed, so nothing would release this watch
    this.#unwatch = this.#os.service.onCredentialEnd(principal, (error) => this.#expel(error))
  }

  /** The credential expired or was revoked: stop handling requests. */
  #expel({ message, code }: HoldfastError): void {
    this.#principal = undefined
    this.#send({ event: 'auth_error', error: message, error_type: code })
    this.#socket.close(1008, 'the credential expired or was revoked')
  }

  async #start(principal: Principal, fields: Fields): Promise<void> {
    const component = this.#component(fields)
    const { maxNameChars } = this.#os.service.limits
    const { action: _action, [this.#family.idField]: _id, ...form } = fields
    const { input, session, metadata, runId } = parseRunForm(
      { fields: { message: '', ...form }, files: [] },
      maxNameChars,
    )
    const { stored } = await this.#os.service.start(principal, {
      component: component.id,
      input,
      protocol: 'agentos',
      follows: true,
      ...(session !== undefined && { session }),
      ...(metadata !== undefined && { metadata }),
      ...(runId !== undefined && { idempotencyKey: keyOfRunId(runId) }),
    })
    const user = textField(fields, 'user_id')
    await noteStart(this.#os, principal, stored.run.session, inputText(input), user)
    await this.#follow(principal, { known: stored })
  }

  async #continue(principal: Principal, fields: Fields): Promise<void> {
    const stored = await this.#run(principal, fields)
    if (stored === undefined) throw new HoldfastError('not_found', 'Run not found')
    const { run, next } = stored
    if (run.status !== 'paused') throw new HoldfastError('conflict', `run is not paused (status=${run.status})`)
    const answers = answersFrom(run.waiting ?? [], this.#family, fields)
    const continued = await this.#os.service.answer(principal, run.id, answers)
    await this.#follow(principal, await followFrom(this.#os, continued, next))
  }

  async #reconnect(principal: Principal, fields: Fields): Promise<void> {
    const id = textField(fields, 'run_id')
    if (id === undefined) throw new HoldfastError('invalid_request', 'run_id is required for reconnection')
    const requested = integerField(fields, 'last_event_index')
    const stored = await this.#run(principal, fields)
    if (stored === undefined) return this.#send(notFound(id))
    const { state } = await this.#os.views.open(stored).current(stored.next)
    const position = streamPositionIn(state, requested)
    const { opening, caughtUp } = metaEventsOf(this.#family, state, position)
    for (const meta of opening) this.#send(meta)
    await this.#follow(principal, {
      ...resumeAfter(this.#os, stored, state, position),
      ...(caughtUp !== undefined && { caughtUp }),
    })
  }

  /** A second subscription to the same run replaces the first one on this connection. */
  async #follow(principal: Principal, what: FollowRequest): Promise<void> {
    const { id } = what.known.run
    this.#feeds.get(id)?.close()
    if (this.#feeds.size >= FEEDS_MAX && !this.#feeds.has(id))
      throw new HoldfastError('rate_limited', `this connection already follows ${FEEDS_MAX} runs, the maximum`)
    const feed = new SocketFeed(this.#outbox, this.#os, what, () => {
      if (this.#feeds.get(id) === feed) this.#feeds.delete(id)
    })
    this.#feeds.set(id, feed)
    await feed.open(principal)
  }

  #component(fields: Fields): Component {
    const id = textField(fields, this.#family.idField)
    if (id === undefined) throw new HoldfastError('invalid_request', `${this.#family.idField} is required`)
    const found = this.#os.components(this.#family).find((component) => component.id === id)
    if (found === undefined) throw new HoldfastError('not_found', `${this.#family.title} ${id.slice(0, 100)} not found`)
    return found
  }

  /** Finds a run of this family, and of the request's component and session. */
  async #run(principal: Principal, fields: Fields): Promise<StoredRun | undefined> {
    const { maxNameChars } = this.#os.service.limits
    const id = textField(fields, 'run_id') ?? ''
    const session = nameField(fields, 'session_id', maxNameChars)
    const wanted = textField(fields, this.#family.idField)
    for (const component of this.#os.components(this.#family)) {
      if (wanted !== undefined && component.id !== wanted) continue
      const stored = await this.#os.findRun(principal, component.id, id, session)
      if (stored !== undefined) return stored
    }
    return undefined
  }
}

function failure(error: string): MetaEvent {
  return { event: 'error', error }
}

function fieldsIn(request: Buffer): Fields {
  const value = parseJson(request.toString(), 'the message')
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new HoldfastError('invalid_request', 'the message is not a JSON object')
}
