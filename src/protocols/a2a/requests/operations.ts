/** The A2A 1.0 operations of one agent, shared by all bindings, with validated requests and typed results. */
import { RESUME_EXTENSION } from '../../../a2a/resume.ts'
import type { Component } from '../../../core/ports/component.ts'
import type { Ids } from '../../../core/ports/clock.ts'
import { START } from '../../../core/model/cursor.ts'
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { LoggedEvent } from '../../../core/model/event.ts'
import type { Principal } from '../../../core/model/principal.ts'
import { isFinished, type Run } from '../../../core/model/run.ts'
import type { Service, StartedRun } from '../../../core/service.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { jsonBytes } from '../../../http/response/respond.ts'
import { foldRun } from '../../../http/response/view.ts'
import { continueTask } from './continue-task.ts'
import { a2aError, invalidParams } from '../wire/errors.ts'
import { listRuns, pageTokenAfter } from './listing.ts'
import { aboutOf, inputOf, toAbout } from './messages.ts'
import { checkModes } from './modes.ts'
import { type A2aOptions, type AgentCardOptions, pushOptions } from '../wire/options.ts'
import { type TaskFold, taskProjection } from '../view/projection.ts'
import type { StreamStart } from '../view/stream-start.ts'
import { PushConfigs } from '../push/configs.ts'
import { resumeFrom } from '../view/resume.ts'
import { isSettled, taskStates } from '../view/states.ts'
import { taskOf, taskOfRun, type TaskView } from '../view/task.ts'
import { answersOf } from './answered-messages.ts'
import type { Version } from './version.ts'
import type {
  ListRequest,
  Message,
  PushConfig,
  PushConfigList,
  PushConfigRequest,
  SendRequest,
  SendResult,
  Task,
  TaskList,
} from '../wire/wire.ts'

/** The caller, and the binding's context of the request. */
export interface OperationCaller {
  readonly principal: Principal
  /** Empty for none. */
  readonly tenant: string
  readonly version: Version
  /** Server address that the client used, such as `https://agents.example`. */
  readonly url: string
  /** Active extensions. */
  readonly extensions: ReadonlySet<string>
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  readonly idempotencyKey?: string | undefined
  /** Resume position: the last event that the client has. */
  readonly after?: string | undefined
}

/** What a binding needs to serve a stream. */
export interface TaskStream {
  /** As read when the stream was requested. */
  readonly stored: StoredRun
  readonly start: StreamStart
  readonly view: TaskView
  /** Missed events were trimmed. Reported with the first event. */
  readonly gap: boolean
}

/** Target of a send: a new task, or a question of an existing one. */
interface SendTarget {
  readonly stored: StoredRun
  readonly start: StreamStart
  readonly answers?: ReadonlyMap<string, Message>
}

export class Operations {
  readonly component: Component
  readonly about: AgentCardOptions
  readonly #service: Service
  readonly #options: A2aOptions
  readonly #ids: Ids

  constructor(service: Service, component: Component, options: A2aOptions, ids: Ids) {
    this.#service = service
    this.component = component
    this.#options = options
    this.about = options.agents?.[component.id] ?? {}
    this.#ids = ids
  }

  /** Waits until the task ends or needs input, unless `returnImmediately` is set. */
  async send(caller: OperationCaller, request: SendRequest): Promise<SendResult> {
    const { stored, start, answers } = await this.#accept(caller, request)
    const { run } = stored
    const { historyLength, returnImmediately = false } = request.configuration ?? {}
    const from = await this.#answeredAt(caller, run, start)
    const fold = await this.#foldUntil(
      caller,
      run.id,
      (state, index) => index >= from && isDue(state, returnImmediately),
    )
    if (fold.direct !== undefined) return { message: fold.direct }
    return { task: taskOf(fold, { historyLength, ...(answers !== undefined && { answers }) }) }
  }

  async stream(caller: OperationCaller, request: SendRequest): Promise<TaskStream> {
    this.#requireStreaming()
    const { stored, start, answers } = await this.#accept(caller, request, true)
    const historyLength = request.configuration?.historyLength
    return { stored, start, view: { historyLength, ...(answers !== undefined && { answers }) }, gap: false }
  }

  async get(caller: OperationCaller, id: string, historyLength?: number): Promise<Task> {
    const { run } = await this.#task(caller, id)
    return this.#show(caller, run, { historyLength })
  }

  async list(caller: OperationCaller, request: ListRequest): Promise<TaskList> {
    const { historyLength = 0, includeArtifacts = false } = request
    const belongs = (run: Run): boolean => this.#belongs(caller, run)
    const page = await listRuns(this.#service, caller.principal, this.component.id, request, belongs)
    const tasks: Task[] = []
    const { pageSize, totalSize } = page
    let bytesLeft = this.#service.limits.maxResponseBytes
    for (const [position, run] of page.runs.entries()) {
      const needsLog = historyLength > 0 || includeArtifacts
      const task = needsLog ? await this.#show(caller, run, { historyLength, includeArtifacts }) : taskOfRun(run)
      bytesLeft -= jsonBytes(task)
      const before = page.runs[position - 1]
      if (bytesLeft < 0 && before !== undefined)
        return { tasks, nextPageToken: pageTokenAfter(before), pageSize, totalSize }
      tasks.push(task)
    }
    return { tasks, nextPageToken: page.nextPageToken, pageSize, totalSize }
  }

  /** Requests a stop, waits a bounded time for it, and returns the task. */
  async cancel(caller: OperationCaller, id: string): Promise<Task> {
    const { run } = await this.#task(caller, id)
    if (isFinished(run.status) && run.status !== 'cancelled')
      throw a2aError('TASK_NOT_CANCELABLE', `task ${id} is ${taskOfRun(run).status.state}`, { taskId: id })
    const stored = await this.#stopped(caller, await this.#service.stop(caller.principal, id, 'canceled by the client'))
    if (isFinished(stored.run.status) && stored.run.status !== 'cancelled')
      throw a2aError('TASK_NOT_CANCELABLE', `task ${id} ended before it could be canceled`, { taskId: id })
    return this.#show(caller, stored.run, {})
  }

  async subscribe(caller: OperationCaller, id: string): Promise<TaskStream> {
    this.#requireStreaming()
    const stored = await this.#task(caller, id)
    const resumed = caller.extensions.has(RESUME_EXTENSION) && caller.after !== undefined
    const { start, gap, isKept } = resumed
      ? await resumeFrom(this.#service, stored, caller.after)
      : { start: { kind: 'index', index: stored.next - 1 } as const, gap: false, isKept: false }
    if (!resumed && isFinished(stored.run.status))
      throw a2aError('UNSUPPORTED_OPERATION', `task ${id} has ended; get it instead`, { taskId: id })
    if (isKept) return { stored, start, view: { historyLength: 0, includeArtifacts: false }, gap }
    return { stored, start, view: { answers: await this.#answers(caller, id) }, gap }
  }

  /** Pushes events after a log index. Default: after the last one. */
  async createPushConfig(
    caller: OperationCaller,
    task: string,
    request: PushConfigRequest,
    after?: number,
  ): Promise<PushConfig> {
    const configs = await this.#pushConfigs(caller, task)
    const { next } = await this.#service.get(caller.principal, task)
    return configs.create(task, request, caller.version, after ?? next - 1)
  }

  async getPushConfig(caller: OperationCaller, task: string, id: string): Promise<PushConfig> {
    return (await this.#pushConfigs(caller, task)).get(task, id)
  }

  async listPushConfigs(
    caller: OperationCaller,
    task: string,
    pageSize?: number,
    pageToken?: string,
  ): Promise<PushConfigList> {
    return (await this.#pushConfigs(caller, task)).list(task, pageSize, pageToken)
  }

  async deletePushConfig(caller: OperationCaller, task: string, id: string): Promise<void> {
    await (await this.#pushConfigs(caller, task)).remove(task, id)
  }

  async #pushConfigs(caller: OperationCaller, task: string): Promise<PushConfigs> {
    this.#requirePush()
    await this.#task(caller, task)
    return new PushConfigs(
      this.#service.documents(caller.principal),
      this.component.id,
      this.#ids,
      this.#service.limits,
      this.#options.secrets,
    )
  }

  #requireStreaming(): void {
    if (this.about.streaming === false)
      throw a2aError(
        'UNSUPPORTED_OPERATION',
        `${this.component.id} does not stream: send the message without streaming`,
      )
  }

  #requirePush(): void {
    if (pushOptions(this.#options) === undefined)
      throw a2aError('PUSH_NOTIFICATION_NOT_SUPPORTED', `${this.component.id} sends no push notifications`)
  }

  async #accept(caller: OperationCaller, request: SendRequest, follows = false): Promise<SendTarget> {
    const { message, configuration, metadata = {} } = request
    if (configuration?.taskPushNotificationConfig !== undefined) this.#requirePush()
    if (Object.hasOwn(metadata, 'a2a')) throw invalidParams('metadata must not have the key a2a')
    checkModes(message.parts, this.about.inputModes)
    const taskId = message.taskId ?? ''
    const sent =
      taskId === ''
        ? await this.#start(caller, request, follows)
        : await continueTask(
            this.#service,
            caller.principal,
            await this.#task(caller, taskId),
            message,
            this.#deduplicates(caller),
          )
    const push = configuration?.taskPushNotificationConfig
    if (push !== undefined)
      await this.createPushConfig(caller, sent.stored.run.id, push, sent.start.kind === 'start' ? START : undefined)
    return sent
  }

  async #start(caller: OperationCaller, { message, metadata }: SendRequest, follows: boolean): Promise<SendTarget> {
    const { contextId = '' } = message
    const { maxNameChars } = this.#service.limits
    if (contextId.length > maxNameChars) throw invalidParams(`contextId has more than ${maxNameChars} characters`)
    const idempotencyKey = await this.#keyOf(caller, message)
    const starting = this.#service.start(caller.principal, {
      component: this.component.id,
      input: inputOf(message.parts),
      protocol: 'a2a',
      follows,
      metadata: { ...metadata, a2a: toAbout(message, caller.tenant, this.about.answersDirectly === true) },
      ...(contextId !== '' && { session: contextId }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    })
    const { stored }: StartedRun = await starting.catch((cause: unknown) => {
      throw isHoldfastError(cause, 'idempotency_conflict') ? reusedMessage(caller, message, cause) : cause
    })
    return { stored, start: { kind: 'start' } }
  }

  /** Whether a message id identifies a message. Clients that do not know the resume extension often reuse ids. */
  #deduplicates({ extensions }: OperationCaller): boolean {
    const { deduplicateMessages = 'extension' } = this.#options
    return deduplicateMessages === 'extension' ? extensions.has(RESUME_EXTENSION) : deduplicateMessages === 'always'
  }

  /** Messages are deduplicated by context and message id, or by the client's idempotency key. */
  async #keyOf(caller: OperationCaller, { messageId, contextId = '' }: Message): Promise<string | undefined> {
    if (caller.idempotencyKey !== undefined) return `a2a ${await digestOf([caller.idempotencyKey])}`
    if (!this.#deduplicates(caller)) return undefined
    return `a2a ${await digestOf([this.component.id, caller.tenant, contextId, messageId])}`
  }

  /** Log index of the answer. Only later events respond to the message. */
  async #answeredAt(caller: OperationCaller, run: Run, start: StreamStart): Promise<number> {
    if (start.kind !== 'answer') return 0
    let from = Infinity
    await foldRun(this.#service, caller.principal, run.id, taskProjection, {
      isLookup: true,
      wait: caller.signal,
      until: (_state, event) => {
        const isAnswer = event.type === 'run.resumed' && event.index >= start.from
        if (isAnswer && Object.hasOwn(event.data.answers, start.question)) from = event.index
        return from !== Infinity
      },
    })
    return from
  }

  /** Waits until the response is due. If the task has moved on, shows its current state, provided that this is also a valid response. */
  async #foldUntil(
    { principal, signal }: OperationCaller,
    id: string,
    due: (state: TaskFold, index: number) => boolean,
  ): Promise<TaskFold> {
    const until = (state: TaskFold, { index }: LoggedEvent): boolean => due(state, index)
    const then = await foldRun(this.#service, principal, id, taskProjection, { wait: signal, until })
    if (then.direct !== undefined || taskStates[then.state].terminal) return then
    const now = await foldRun(this.#service, principal, id, taskProjection)
    return due(now, Infinity) ? now : then
  }

  /** The current task. */
  async #show(caller: OperationCaller, run: Run, view: TaskView): Promise<Task> {
    const fold = await foldRun(this.#service, caller.principal, run.id, taskProjection)
    const answers =
      fold.turns === undefined || view.historyLength === 0 ? undefined : await this.#answers(caller, run.id)
    return taskOf(fold, { ...view, ...(answers && { answers }) })
  }

  #answers({ principal }: OperationCaller, task: string): Promise<ReadonlyMap<string, Message>> {
    return answersOf(this.#service.documents(principal), task)
  }

  async #task(caller: OperationCaller, id: string): Promise<StoredRun> {
    const stored = await this.#service.get(caller.principal, id).catch((cause: unknown) => {
      if (isHoldfastError(cause, 'not_found')) return undefined
      throw cause
    })
    if (stored !== undefined && this.#belongs(caller, stored.run)) return stored
    throw a2aError('TASK_NOT_FOUND', `task ${id.slice(0, 100)} not found`, { taskId: id.slice(0, 100) })
  }

  /** Runs of other agents or tenants count as not found. */
  #belongs({ tenant }: OperationCaller, run: Run): boolean {
    return run.component === this.component.id && (aboutOf(run)?.tenant ?? '') === tenant
  }

  async #stopped({ principal, signal }: OperationCaller, asked: StoredRun): Promise<StoredRun> {
    const until = performance.now() + this.#service.limits.longPollTimeoutMs
    let stored = asked
    while (!isFinished(stored.run.status) && performance.now() < until && !signal.aborted) {
      const { id } = stored.run
      await this.#service.waitForMore(principal, id, stored.next - 1, until - performance.now(), signal)
      stored = await this.#service.get(principal, id)
    }
    return stored
  }
}

function reusedMessage(
  { idempotencyKey }: OperationCaller,
  { messageId }: Message,
  cause: HoldfastError,
): HoldfastError {
  if (idempotencyKey !== undefined) return cause
  const id = JSON.stringify(messageId.slice(0, 100))
  return new HoldfastError(cause.code, `messageId ${id} was sent before with another body: use a new id`, { cause })
}

/** An immediate response is due once it is known to be a task rather than a message. */
function isDue({ state, buffered, direct, relay }: TaskFold, returnImmediately: boolean): boolean {
  if (direct !== undefined) return true
  // An upstream may respond late. Clients can get its task meanwhile.
  return returnImmediately ? buffered === undefined || relay !== undefined : isSettled(state)
}

async function digestOf(values: readonly string[]): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(values)))
  return Buffer.from(digest).toString('base64url')
}
