/** Follows a task until it ends or waits, over any number of connections. */
import { type Backoff, sleep } from '../client/backoff.ts'
import { ClientError, ConnectionError } from '../client/errors.ts'
import { isTransient } from '../client/transport.ts'
import { TaskAssembler } from './task-assembler.ts'
import { type Binding, callBinding } from './binding.ts'
import { A2aError, ProtocolError } from './errors.ts'
import { wasNotReceived } from './not-received.ts'
import type { SendRequest, SendResult, Task, TaskState, TaskStatus, TaskUpdate } from './types.ts'
import { isEnded, isWaiting } from './types.ts'

export interface FollowOptions {
  readonly binding: Binding
  readonly newBackoff: () => Backoff
  readonly retries: number
  readonly idleTimeoutMs: number
  readonly pollIntervalMs: number
  readonly streaming: boolean
  /** The agent numbers its events, and can resume after one. */
  readonly resumable: boolean
  /** A message that may have been received may be resent. */
  readonly resends: boolean
  readonly signal: AbortSignal | undefined
}

/** Starts with a message, or with an existing task. */
export type FollowStart = {
  /** The status that was answered: seeing it again is no progress. */
  readonly answered?: TaskStatus | undefined
  readonly endsAtAuth?: boolean | undefined
} & ({ readonly request: SendRequest } | { readonly task: string; readonly after?: string | undefined })

/** A connection that lasted this long was good, even if it delivered nothing new. One without any data may be dead. */
const STEADY_MS = 2000
/** Consecutive streams that ended immediately or delivered nothing new, before the task is polled instead. */
const EMPTY_STREAMS_MAX = 3

type FollowMethod = 'send' | 'subscribe' | 'poll'

export class TaskFollower {
  readonly assembly = new TaskAssembler()
  readonly #options: FollowOptions
  readonly #opening: FollowStart
  readonly #backoff: Backoff
  #method: FollowMethod
  #after: string | undefined
  #answered: TaskStatus | undefined
  #emptyStreams = 0
  #staleLooks = 0

  constructor(opening: FollowStart, options: FollowOptions) {
    this.#opening = opening
    this.#options = options
    this.#backoff = options.newBackoff()
    this.#answered = opening.answered
    this.#method = 'request' in opening ? 'send' : this.#rejoinBy()
    this.#after = 'request' in opening ? undefined : opening.after
  }

  /** A stream that ends before the task is settled was interrupted, even if it closed cleanly. */
  async *updates(): AsyncGenerator<TaskUpdate, SendResult, void> {
    for (;;) {
      const since = performance.now()
      let came: 'nothing' | 'nothing new' | 'updates' = 'nothing'
      try {
        for await (const update of this.#connection()) {
          const updates = this.#add(update)
          if (came !== 'updates') came = updates.length > 0 ? 'updates' : 'nothing new'
          const isOver = this.#isOver()
          yield* isOver ? await this.#checked(updates) : updates
          if (isOver) return this.#result()
        }
        if (this.#restsHere()) return this.#result()
        throw new ConnectionError(this.#cutShort())
      } catch (cause) {
        this.#options.signal?.throwIfAborted()
        const isSteady = performance.now() - since >= STEADY_MS
        const wasGood = came === 'updates' || (came === 'nothing new' && isSteady)
        if (wasGood) this.#emptyStreams = 0
        else if (came === 'nothing new' || isSteady) this.#emptyStreams++
        await this.#recover(cause, wasGood)
      }
    }
  }

  #cutShort(): string {
    const { id } = this.assembly
    return id === undefined
      ? 'the agent closed its stream without sending an update'
      : `the stream ended before task ${id} did`
  }

  #rejoinBy(): FollowMethod {
    return this.#options.streaming ? 'subscribe' : 'poll'
  }

  async *#connection(): AsyncGenerator<TaskUpdate, void, void> {
    const { binding, signal, idleTimeoutMs: timeoutMs, streaming } = this.#options
    if (this.#method === 'send') {
      const { request } = this.#opening as { readonly request: SendRequest }
      if (streaming)
        return yield* binding.stream({ name: 'SendStreamingMessage', params: request }, { signal, timeoutMs })
      yield await callBinding(binding, 'SendMessage', request, { signal, timeoutMs })
      this.#method = 'poll'
    }
    if (this.#method === 'poll') return yield* this.#polls()
    this.assembly.rejoin()
    const after = this.#options.resumable ? (this.assembly.cursor ?? this.#after) : undefined
    yield* binding.stream({ name: 'SubscribeToTask', params: { id: this.#id() } }, { signal, timeoutMs, after })
  }

  async *#polls(): AsyncGenerator<TaskUpdate, void, void> {
    for (;;) {
      yield { task: await this.#get() }
      await sleep(this.#options.pollIntervalMs, this.#options.signal)
    }
  }

  #get(): Promise<Task> {
    const { binding, signal, idleTimeoutMs: timeoutMs } = this.#options
    return callBinding(binding, 'GetTask', { id: this.#id() }, { signal, timeoutMs })
  }

  #id(): string {
    return this.assembly.id ?? ('task' in this.#opening ? this.#opening.task : '')
  }

  #add(update: TaskUpdate): TaskUpdate[] {
    const isFirst = this.assembly.id === undefined
    const updates = this.assembly.add(update)
    // After a message, a task's first snapshot is often its state before the message.
    if (isFirst && 'request' in this.#opening && this.#opening.request.message.taskId !== undefined && 'task' in update)
      this.#answered ??= update.task.status
    return updates
  }

  #isOver(): boolean {
    const { status, message } = this.assembly
    if (message !== undefined || isEnded(status.state)) return true
    if (!isWaiting(status.state)) return false
    if (this.#isAnswered(status)) return this.#method === 'poll' && ++this.#staleLooks > this.#options.retries
    // A task that waits for credentials may get them from elsewhere and continue by itself, so the stream stays open.
    return status.state === 'TASK_STATE_INPUT_REQUIRED' || this.#method === 'poll' || this.#opening.endsAtAuth === true
  }

  /** Whether the task waits and the agent has closed the stream because of that. */
  #restsHere(): boolean {
    const { status } = this.assembly
    return isWaiting(status.state) && !this.#isAnswered(status)
  }

  #isAnswered({ state, message, timestamp }: TaskStatus): boolean {
    const answered = this.#answered
    if (answered === undefined || answered.state !== state) return false
    if (message !== undefined && answered.message !== undefined) return message.messageId === answered.message.messageId
    return timestamp === answered.timestamp
  }

  #result(): SendResult {
    const { message, task } = this.assembly
    return message === undefined ? { task: task! } : { message }
  }

  /** At the end, compares the state assembled from a snapshot and later updates with the agent's own. */
  async #checked(updates: readonly TaskUpdate[]): Promise<readonly TaskUpdate[]> {
    if (this.assembly.exact || this.assembly.message !== undefined) return updates
    const { state } = this.assembly.status
    const task = await this.#settled(state)
    if (task === undefined) return updates
    const corrections = this.assembly.add({ task })
    const isEnd = (update: TaskUpdate): boolean =>
      'statusUpdate' in update && update.statusUpdate.status.state === state
    return [...updates.filter((update) => !isEnd(update)), ...corrections, ...updates.filter(isEnd)]
  }

  /** The task, once the agent's stored state has caught up with its stream. */
  async #settled(state: TaskState): Promise<Task | undefined> {
    const { retries, pollIntervalMs, signal, newBackoff } = this.#options
    const backoff = newBackoff()
    for (let look = 0; look <= retries; look++) {
      try {
        const task = await this.#get()
        if (task.status.state === state || isEnded(task.status.state)) return task
        await sleep(pollIntervalMs, signal)
      } catch (cause) {
        if (cause instanceof A2aError) return undefined
        if (!(cause instanceof ClientError) || !isTransient(cause)) throw cause
        await backoff.pause(cause, signal)
      }
    }
    return undefined
  }

  /** Waits until a retry is due, possibly by another method; throws permanent errors. */
  async #recover(cause: unknown, wasGood: boolean): Promise<void> {
    if (!(cause instanceof ClientError)) throw cause
    const failed = this.#method
    if (failed === 'send' && this.assembly.id === undefined) {
      if (!this.#mayResend(cause)) throw cause
    } else if (failed === 'send') this.#method = this.#rejoinBy()
    if (cause instanceof A2aError && cause.code !== 'agent_error') {
      if (failed === 'poll' || LASTING.includes(cause.code)) throw cause
      // A finished task cannot be subscribed to, nor any task if the agent does not offer it.
      this.#method = 'poll'
      return
    }
    if (cause instanceof ProtocolError || !(isTransient(cause) || cause instanceof A2aError)) throw cause
    if (wasGood) this.#backoff.progress()
    if (this.#emptyStreams >= EMPTY_STREAMS_MAX) this.#method = 'poll'
    await this.#backoff.pause(cause, this.#options.signal)
  }

  /** Resending is safe only if the message was not received: otherwise it may create a second task. */
  #mayResend(cause: ClientError): boolean {
    return wasNotReceived(cause) || (this.#options.resends && isTransient(cause))
  }
}

const LASTING: readonly string[] = ['task_not_found', 'unauthenticated', 'forbidden', 'version_not_supported']
