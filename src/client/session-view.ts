/** View model of a session: its runs as a conversation, without retracted output. */
import type { Failure, LoggedEvent, Question } from '../core/model/event.ts'
import type { RunStatus } from '../core/model/run.ts'
import { lifecycleAfter, queuedRun, type RunLifecycle } from '../core/structure/lifecycle.ts'
import { type DiscardedAttempt, retractedFrom, workRetractedFrom } from '../core/structure/retraction.ts'
import { TextFold } from '../core/structure/texts.ts'

export type SessionMessage = UserMessage | AssistantMessage

/** The input of a run. */
export interface UserMessage {
  readonly role: 'user'
  /** Unique in the session. */
  readonly id: string
  readonly run: string
  readonly time: string
  readonly input: unknown
}

/** What a run has emitted and done so far. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly id: string
  readonly run: string
  readonly time: string
  /** All of its text. */
  readonly text: string
  /** Text, tool calls and answered questions, in their order. */
  readonly parts: readonly MessagePart[]
  readonly status: RunStatus
  /** Questions that it waits for. */
  readonly questions: readonly Question[]
  readonly output?: unknown
  /** Why it failed, was cancelled or was rejected. */
  readonly error?: Failure
}

export type MessagePart =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | ToolPart
  | { readonly kind: 'answers'; readonly answers: Readonly<Record<string, unknown>> }

/** A tool call in an assistant's message. */
export interface ToolPart {
  readonly kind: 'tool'
  readonly call: string
  readonly name: string
  readonly input: unknown
  readonly state: 'running' | 'done' | 'failed'
  readonly output?: unknown
  readonly error?: Failure
}

/** Maximum runs of a session that are kept, the newest ones. */
const RUNS_MAX = 1000

export class SessionView {
  /** In the order in which they were created. */
  #runs: RunMessages[] = []
  readonly #byRun = new Map<string, RunMessages>()
  #messages: readonly SessionMessage[] | undefined = []

  get messages(): readonly SessionMessage[] {
    return (this.#messages ??= this.#runs.flatMap((runMessages) => runMessages.messages))
  }

  apply(events: readonly LoggedEvent[]): void {
    for (const event of events) this.#messagesOf(event).apply(event)
    if (events.length > 0) this.#messages = undefined
  }

  #messagesOf({ run, time }: LoggedEvent): RunMessages {
    const known = this.#byRun.get(run)
    if (known !== undefined) return known
    const runMessages = new RunMessages(run, time)
    const before = this.#runs.findLastIndex((other) => other.time <= time)
    this.#runs.splice(before + 1, 0, runMessages)
    this.#byRun.set(run, runMessages)
    // Stays in the map, so that its later events are not attributed to a new run.
    if (this.#runs.length > RUNS_MAX) this.#runs.shift()!.forget()
    return runMessages
  }
}

interface Placed<Part> {
  readonly index: number
  part: Part
  /** The call is in the ledger: retracting output does not undo it. */
  readonly recorded: boolean
}

/** The messages of one run of a session. */
class RunMessages {
  readonly time: string
  readonly #run: string
  #texts = new TextFold()
  #tools: Placed<ToolPart>[] = []
  #answers: Placed<MessagePart>[] = []
  #input: { readonly value: unknown } | undefined
  #lifecycle: RunLifecycle = queuedRun
  #messages: readonly SessionMessage[] | undefined
  #isForgotten = false

  constructor(run: string, time: string) {
    this.#run = run
    this.time = time
  }

  get messages(): readonly SessionMessage[] {
    return (this.#messages ??= this.#read())
  }

  forget(): void {
    this.#isForgotten = true
    this.#texts = new TextFold()
    this.#tools = this.#answers = []
    this.#input = this.#messages = undefined
  }

  apply(event: LoggedEvent): void {
    if (this.#isForgotten) return
    this.#messages = undefined
    this.#lifecycle = lifecycleAfter(this.#lifecycle, event)
    if (event.actor !== undefined && event.type !== 'attempt.discarded') return
    switch (event.type) {
      case 'run.created':
        this.#input = { value: event.data.input }
        return
      case 'run.resumed':
        this.#texts.close('')
        this.#answers.push({
          index: event.index,
          part: { kind: 'answers', answers: event.data.answers },
          recorded: true,
        })
        return
      case 'text.delta':
      case 'reasoning.delta':
        this.#texts.add(event)
        return
      case 'tool.called':
        this.#texts.close('')
        return this.#callTool(event)
      case 'tool.completed':
        return this.#endTool(event.data.call, { state: 'done', output: event.data.output })
      case 'tool.failed':
        return this.#endTool(event.data.call, { state: 'failed', error: event.data.error })
      case 'attempt.discarded':
        return this.#retract(event)
      default:
    }
  }

  #callTool({ index, data }: Extract<LoggedEvent, { type: 'tool.called' }>): void {
    const { call, name, input, key } = data
    // A call that is repeated after a crash is the same one.
    if (this.#tools.some(({ part }) => part.call === call && part.state === 'running')) return
    const part: ToolPart = { kind: 'tool', call, name, input, state: 'running' }
    this.#tools.push({ index, part, recorded: key !== undefined })
  }

  #endTool(call: string, result: Partial<ToolPart>): void {
    const tool = this.#tools.findLast(({ part }) => part.call === call)
    if (tool !== undefined) tool.part = { ...tool.part, ...result }
  }

  #retract(event: DiscardedAttempt): void {
    this.#texts.retract(event)
    const [output, work] = [retractedFrom(event, ''), workRetractedFrom(event, '')]
    this.#tools = this.#tools.filter(({ index, recorded }) => index < (recorded ? work : output))
  }

  #read(): SessionMessage[] {
    if (this.#isForgotten) return []
    const { status, questions, output, error } = this.#lifecycle
    const texts = this.#texts.of('').map(({ index, kind, text }) => ({ index, part: { kind, text } }))
    const placed = [...texts, ...this.#tools, ...this.#answers].toSorted((one, other) => one.index - other.index)
    const about = { run: this.#run, time: this.time }
    const reply: AssistantMessage = {
      role: 'assistant',
      id: this.#run,
      ...about,
      text: texts.map(({ part }) => (part.kind === 'text' ? part.text : '')).join(''),
      parts: placed.map(({ part }) => part),
      status,
      questions,
      ...(output !== undefined && { output }),
      ...(error !== undefined && { error }),
    }
    const asked = this.#input
    // The input of a run whose beginning was trimmed is not known.
    return asked === undefined
      ? [reply]
      : [{ role: 'user', id: `${this.#run}:input`, ...about, input: asked.value }, reply]
  }
}
