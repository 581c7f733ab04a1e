/** Projects a log to a task and its stream events. Sequence numbers are counted in the fold, so they are the same on every node. */
import type { LoggedEvent, LoggedEventOf, Question } from '../../../core/model/event.ts'
import type { Projection, TextStretch } from '../../../core/ports/projection.ts'
import type { Run } from '../../../core/model/run.ts'
import {
  addArtifact,
  addOutput,
  type Artifacts,
  type ArtifactChange,
  endAll,
  endMessage,
  addText,
  continueText,
  addReceived,
  hasReceived,
  retract,
} from './artifacts.ts'
import { partsOf } from '../../../a2a/parts.ts'
import { aboutOf, agentMessage, questionMessage } from '../requests/messages.ts'
import { isSettled, type TaskState, taskStates, waitingState } from './states.ts'
import type { Message, StatusUpdate, StreamResponse, Task } from '../wire/wire.ts'
import { isShown, relayAfter, type TaskRelay, updateIn } from './relay.ts'
import { artifactUpdateOf, statusOf, taskOf } from './task.ts'
import { type ContinuedText, OwnTexts, textFrames } from './text-frames.ts'

/** Answers to questions, newest first. */
export interface AnsweredTurn {
  readonly questions: readonly Question[]
  readonly answers: Readonly<Record<string, unknown>>
  readonly index: number
  readonly previous: AnsweredTurn | undefined
}

/** Identifies a log event, to detect that a restored log has another event at its index. */
export type Origin = Pick<LoggedEvent, 'index' | 'time' | 'type'>

/** State of a task at a log position: pure data from which the task and its events are built. */
export interface TaskFold {
  readonly run: Run
  readonly input: unknown
  readonly state: TaskState
  readonly timestamp: string
  readonly waiting: readonly Question[]
  /** The status message. */
  readonly message: Message | undefined
  readonly turns: AnsweredTurn | undefined
  readonly artifacts: Artifacts | undefined
  readonly ownTexts: OwnTexts
  /** Whether earlier events were trimmed; undefined before the first event. */
  readonly trimmed: boolean | undefined
  /** Next sequence number. */
  readonly sequence: number
  /** Log event of the last A2A event; undefined before the first. */
  readonly origin: Origin | undefined
  /** Events buffered until it is known whether the response is a task or a message; undefined afterwards. */
  readonly buffered: readonly TaskFrame[] | undefined
  /** The response is this message, without a task. */
  readonly direct: Message | undefined
  /** Set for runs of an A2A upstream. */
  readonly relay: TaskRelay | undefined
}

export interface TaskFrame {
  readonly sequence: number
  readonly update: StreamResponse
  /** Ends the stream. */
  readonly last: boolean
  /** The task's state after this event. */
  readonly fold: TaskFold
  /** Its log event. */
  readonly origin: Origin | undefined
  /** Set for a text that continues an artifact. */
  readonly continued?: ContinuedText
}

/** Custom event by which an agent responds with a message instead of a task; must be its first event. */
const DIRECT_ANSWER = 'a2a.message'
/** Custom event that becomes a status message, to report progress. */
const PROGRESS = 'a2a.status'

export const taskProjection: Projection<TaskFold, TaskFrame> = {
  initial: beginTask,
  apply(before, event) {
    if (before.direct !== undefined) return { state: before, frames: [] }
    const draft = new Draft(before.trimmed === undefined ? { ...before, trimmed: event.index > 0 } : before, event)
    draft.fold()
    return { state: draft.state, frames: draft.frames }
  },
  applyTexts(before, stretch) {
    const state = continueTask(before, stretch)
    return state && { state, frames: () => textFrames(before, stretch, continueTask) }
  },
}

/** Applies texts of the run's own component that continue its newest artifact. Each produces one event. */
function continueTask(before: TaskFold, stretch: TextStretch): TaskFold | undefined {
  const { direct, trimmed, buffered, sequence, relay } = before
  if (direct !== undefined || trimmed === undefined || buffered !== undefined || relay !== undefined) return undefined
  const artifacts = continueText(before.artifacts, stretch)
  if (artifacts === undefined) return undefined
  const { first, texts, times } = stretch
  const origin: Origin = { index: first + texts.length - 1, time: times.at(-1)!, type: 'text.delta' }
  return { ...before, artifacts, sequence: sequence + texts.length, origin }
}

export function beginTask(run: Run): TaskFold {
  return {
    run,
    input: undefined,
    state: 'TASK_STATE_SUBMITTED',
    timestamp: run.createdAt,
    waiting: [],
    message: undefined,
    turns: undefined,
    artifacts: undefined,
    ownTexts: new OwnTexts(),
    trimmed: undefined,
    sequence: 0,
    origin: undefined,
    buffered: aboutOf(run)?.direct === true ? [] : undefined,
    direct: undefined,
    relay: undefined,
  }
}

function originOf({ index, time, type }: LoggedEvent): Origin {
  return { index, time, type }
}

type Changes = { -readonly [Key in keyof TaskFold]?: TaskFold[Key] }

/** One step of the fold. The state is immutable. */
class Draft {
  state: TaskFold
  frames: TaskFrame[] = []
  readonly #event: LoggedEvent

  constructor(state: TaskFold, event: LoggedEvent) {
    this.state = state
    this.#event = event
  }

  fold(): void {
    const event = this.#event
    const relay = relayAfter(this.state.relay, event)
    if (relay !== this.state.relay) this.#set({ relay })
    if (isShown(relay, event)) return
    switch (event.type) {
      case 'run.created':
        this.#set({ input: event.data.input, timestamp: event.time })
        // The first frame is the upstream's task.
        if (relay !== undefined) this.#set({ buffered: [] })
        return this.#emit({ task: taskOf(this.state) })
      case 'run.started':
        if (this.state.state === 'TASK_STATE_WORKING' || relay !== undefined) return
        return this.#move('TASK_STATE_WORKING')
      case 'upstream.received':
        return this.#received(event)
      case 'text.delta':
        return this.#show(addText(this.state.artifacts, event))
      case 'text.completed':
        return this.#show(endMessage(this.state.artifacts, event))
      case 'artifact.added':
        return this.#show(addArtifact(this.state.artifacts, event))
      case 'attempt.discarded':
        return this.#show(retract(this.state.artifacts, event))
      case 'custom.emitted':
        return this.#custom(event.data.name, event.data.value)
      case 'run.paused':
        return this.#pause(event.data.questions)
      case 'run.resumed':
        return this.#resume(event.data.answers)
      case 'run.completed':
        this.#show(endAll(this.state.artifacts))
        // All of an upstream's output was streamed.
        if (relay === undefined) this.#show(addOutput(this.state.artifacts, event.data.output, event.index))
        if (relay?.answer !== undefined) return this.#answer(relay.answer)
        return this.#move('TASK_STATE_COMPLETED')
      case 'run.failed':
        return this.#end('TASK_STATE_FAILED', event.data.error.message)
      case 'run.cancelled':
        return this.#end('TASK_STATE_CANCELED', event.data.reason)
      case 'run.rejected':
        return this.#end('TASK_STATE_REJECTED', event.data.reason)
      default:
    }
  }

  #set(changes: Changes): void {
    this.state = { ...this.state, ...changes }
  }

  #emit(update: StreamResponse, last = false, changes: Changes = {}): void {
    const { sequence } = this.state
    this.#set({ ...changes, sequence: sequence + 1, origin: originOf(this.#event) })
    const frame: TaskFrame = { sequence, update, last, fold: this.state, origin: this.state.origin }
    if (this.state.buffered === undefined) this.frames.push(frame)
    else this.#set({ buffered: [...this.state.buffered, frame] })
  }

  /** The response is a task: releases buffered events. */
  #decide(): void {
    if (this.state.buffered === undefined) return
    this.frames.push(...this.state.buffered)
    this.#set({ buffered: undefined })
  }

  #move(state: TaskState, message?: Message): void {
    if (state !== 'TASK_STATE_WORKING') this.#decide()
    const { relay } = this.state
    this.#set({ state, message, timestamp: this.#event.time, waiting: [] })
    if (relay?.end?.status.state === state) return this.#relayStatus(relay.end)
    if (relay?.status !== undefined) this.#set({ relay: { ...relay, status: undefined } })
    this.#tellStatus()
  }

  #received(event: LoggedEventOf<'upstream.received'>): void {
    const { relay, run, buffered, artifacts } = this.state
    if (relay === undefined || event.actor !== undefined || event.data.protocol !== 'a2a') return
    const update = updateIn(event, run)
    if (update === undefined || ('message' in update && buffered === undefined)) {
      this.#set({ relay: { ...relay, isVerbatim: false } })
      return this.state.state === 'TASK_STATE_SUBMITTED' ? this.#move('TASK_STATE_WORKING') : undefined
    }
    this.#set({ relay: { ...relay, isVerbatim: true } })
    if ('task' in update) return this.#receivedTask(update.task)
    if ('message' in update) return this.#set({ relay: { ...relay, isVerbatim: true, answer: update.message } })
    this.#decide()
    if ('statusUpdate' in update) return this.#receivedStatus(update.statusUpdate)
    const { artifact, append = false } = update.artifactUpdate
    this.#emit(update, false, { artifacts: addReceived(artifacts, artifact, append, event.index) })
  }

  /** Sends artifacts and a status with content as updates, for clients that subscribed before the upstream responded. */
  #receivedTask({ id: taskId, contextId, status, artifacts = [], ...head }: Task): void {
    const [first] = this.state.buffered ?? []
    const isPlain = artifacts.length === 0 && status.message === undefined && !isSettled(status.state)
    const known = { ...this.state.relay!, head }
    if (first !== undefined && isPlain) {
      const { state, timestamp = this.#event.time } = status
      this.#set({ state, timestamp, relay: { ...known, status } })
    } else this.#set({ relay: known })
    if (first !== undefined) {
      const fold = { ...this.state, buffered: undefined, sequence: first.fold.sequence, origin: first.origin }
      this.#set({ buffered: [{ ...first, update: { task: taskOf(fold) }, fold }] })
      this.#decide()
    }
    for (const artifact of artifacts) {
      if (hasReceived(this.state.artifacts, artifact)) continue
      const changed = addReceived(this.state.artifacts, artifact, false, this.#event.index)
      this.#emit({ artifactUpdate: { taskId, contextId, artifact } }, false, { artifacts: changed })
    }
    if (JSON.stringify(status) !== JSON.stringify(statusOf(this.state)))
      this.#receivedStatus({ taskId, contextId, status })
  }

  #receivedStatus(update: StatusUpdate): void {
    if (isSettled(update.status.state)) this.#set({ relay: { ...this.state.relay!, end: update } })
    else this.#relayStatus(update)
  }

  #relayStatus(update: StatusUpdate): void {
    const { status } = update
    const { state, message, timestamp = this.#event.time } = status
    this.#set({ state, message, timestamp, relay: { ...this.state.relay!, status } })
    this.#emit({ statusUpdate: update }, taskStates[state].endsStream)
  }

  /** The upstream responded with a message. It is also the task's artifact, for clients that get the task. */
  #answer(direct: Message): void {
    const { taskId: _taskId, ...message } = direct
    this.#set({ state: 'TASK_STATE_COMPLETED', timestamp: this.#event.time })
    this.#set({ direct: message, buffered: undefined, sequence: 0 })
    this.#emit({ message }, true)
  }

  #tellStatus(): void {
    const { run, state } = this.state
    const status = statusOf(this.state)
    this.#emit({ statusUpdate: { taskId: run.id, contextId: run.session, status } }, taskStates[state].endsStream)
  }

  #end(state: TaskState, text: string | undefined): void {
    this.#show(endAll(this.state.artifacts))
    const { run } = this.state
    const id = `${run.id}-${this.#event.index}`
    this.#move(state, text === undefined || text === '' ? undefined : agentMessage(run, id, [{ text }]))
  }

  #show({ artifacts, chunks }: ArtifactChange): void {
    if (this.state.relay?.answer !== undefined) return this.#set({ artifacts })
    if (chunks.length > 0) this.#decide()
    for (const chunk of chunks)
      this.#emit({ artifactUpdate: artifactUpdateOf(this.state.run, chunk) }, false, { artifacts })
    if (artifacts !== this.state.artifacts) this.#set({ artifacts })
  }

  #pause(questions: readonly Question[]): void {
    this.#move(waitingState(questions), questionMessage(this.state.run, questions))
    this.#set({ waiting: questions })
  }

  #resume(answers: Readonly<Record<string, unknown>>): void {
    const { waiting, turns } = this.state
    this.#set({ turns: { questions: waiting, answers, index: this.#event.index, previous: turns } })
    this.#move('TASK_STATE_WORKING')
  }

  #custom(name: string, value: unknown): void {
    const { run, buffered } = this.state
    const message = (): Message => agentMessage(run, `${run.id}-${this.#event.index}`, partsOf(value))
    if (name === DIRECT_ANSWER && buffered !== undefined) {
      const { taskId: _taskId, ...direct } = message()
      this.#set({ direct, buffered: undefined, sequence: 0 })
      this.#emit({ message: direct }, true)
    } else if (name === PROGRESS) this.#move('TASK_STATE_WORKING', message())
  }
}
