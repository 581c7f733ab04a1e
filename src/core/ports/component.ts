/** The component seam: what a user gives us, and what it is given while it runs. */
import type { Event, EventData, Failure, Question } from '../model/event.ts'
import type { Limits } from '../model/limits.ts'
import type { RedactOptions } from '../redaction/redaction.ts'

export type ComponentKind = 'agent' | 'team' | 'workflow'

/** What to do with a run whose worker died: end it, start it again from nothing, or start it again with its recorded results. */
export type Recovery = 'fail' | 'retry' | 'resume'

/** What a new run does when its session has an unfinished one. */
export type BusyPolicy = 'reject' | 'enqueue' | 'interrupt' | 'parallel'

/**
 * What happens to a run when the client that started it leaves before its end, on a wire where starting and watching are one
 * request. Default: it continues.
 */
export type DisconnectPolicy = 'continue' | 'stop'

/** What to do with a tool call that was cut off and is not idempotent. */
export type UncertainPolicy = 'pause' | 'fail'

/** What to do with a recovered run whose code no longer fits its log: ask its owner, or end it. */
export type DivergencePolicy = 'ask' | 'fail'

/** What an agent may yield: a piece of text, or an event. */
export type Emission = string | Event

/** A value that the agent returns becomes the output of `run.completed`. */
export type AgentStream = AsyncIterable<Emission> | AsyncGenerator<Emission, unknown, void>

/** What a component is made of, for those who list it; nothing depends on it. */
export interface ComponentInfo {
  readonly model?: { readonly id: string; readonly provider?: string }
  /** JSON schema of its input, from which forms are made; `parse` is what checks it. */
  readonly inputSchema?: Readonly<Record<string, unknown>>
  /** Of a team, and how they work together. */
  readonly members?: readonly ComponentFacts[]
  readonly mode?: string
}

/** All that is known of a component without running it. */
export type ComponentFacts = Omit<Component, 'run' | 'parse' | 'redact'>

export interface Component<Input = unknown> {
  readonly id: string
  readonly kind: ComponentKind
  readonly name?: string
  readonly description?: string
  /** Of its code: runs say which version accepted, started and resumed them. Nothing compares versions. */
  readonly version?: string
  readonly info?: ComponentInfo
  readonly recovery?: Recovery
  readonly session?: BusyPolicy
  readonly disconnect?: DisconnectPolicy
  readonly uncertain?: UncertainPolicy
  /** Default: `ask`. */
  readonly onDivergence?: DivergencePolicy
  readonly limits?: Partial<
    Pick<
      Limits,
      | 'runTimeoutMs'
      | 'runIdleTimeoutMs'
      | 'replayWaitMs'
      | 'attemptsMax'
      | 'stopGraceMs'
      | 'workInFlightMax'
      | 'workTotalMax'
      | 'callsTotalMax'
    >
  >
  /**
   * What happens to the agent of a paused run: it stays in memory, bounded by `runsParkedMax`, or it is let go, and rebuilt from the log
   * by the answer. Default: `keep`.
   */
  readonly whenPaused?: 'keep' | 'release'
  /** What is redacted in its runs besides what the server redacts; in a run that calls it, from its first call on. */
  readonly redact?: RedactOptions
  /** Checks an input before the run is accepted; throws what is wrong with it. What it returns is what the log keeps. */
  parse?(input: unknown): Input
  run(input: Input, context: RunContext): AgentStream
}

/** What a component is given. Its functions can be taken apart: `async *run(input, { step, ask })`. */
export interface RunContext {
  /** Id of the run; for a component that was called by another, its own id within that one's run. */
  readonly run: string
  readonly session: string
  /** Key of the principal that started the run. */
  readonly owner: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** 1 for the first start. */
  readonly attempt: number
  /** What the agent yields now is being matched with what an earlier attempt left in the log; waits may be skipped. */
  readonly replaying: boolean
  /** Aborted by a stop, a deadline, an idle bound, or a worker that lost its claim. */
  readonly signal: AbortSignal
  /**
   * Does a piece of work once per run: its result is in the log before this returns, and a recovered run gets it from there.
   * Results come back as JSON. A step that was cut off is done again.
   */
  readonly step: <Result>(
    name: string,
    work: (signal: AbortSignal) => Promise<Result> | Result,
    options?: StepCallOptions,
  ) => Promise<Result>
  /**
   * A step that emits: what it yields is in the log as it comes, and is part of the step. A recovered run that has its result
   * neither does nor yields it again; when it fails, what it yielded is retracted.
   */
  readonly stage: <Result>(
    name: string,
    work: () => AsyncGenerator<Emission, Result, void>,
    options?: StepCallOptions,
  ) => Promise<Result>
  /**
   * Calls a tool: the intent is durable before the work starts, the result after. A call that was cut off is repeated
   * only when it is idempotent; `key` is the same on every try, to give to the service that is called.
   */
  readonly tool: <Result>(call: ToolCall, work: (call: ToolAttempt) => Promise<Result> | Result) => Promise<Result>
  /**
   * Runs another component inside this run: what it emits is in this log under its own actor, and its result is recorded, so
   * that a recovered run does not run it again. Rejects with `WorkFailure` when it fails; that does not end this run.
   */
  readonly call: <Input>(component: Component<Input>, input: Input, options?: CallOptions) => Promise<unknown>
  /** The same context with a name space of its own for steps, tools, questions and calls: for branches that run at once. */
  readonly within: (branch: string) => RunContext
  /**
   * Waits, for any length of time; while the log is being replayed, only for what is left of it. Time asleep does not count
   * towards the deadline of the run or as silence. Rejects when the run is aborted.
   */
  readonly sleep: (milliseconds: number) => Promise<void>
  /** The same until a time: a date, an ISO string, or milliseconds since 1970. */
  readonly sleepUntil: (time: Date | string | number) => Promise<void>
  /** Pauses the run until someone answers, for days if need be. */
  readonly ask: (question: string | AskOptions) => Promise<unknown>
  /**
   * What was asked and answered before in this session, by this run's owner: runs that had ended when this one was first started,
   * oldest first, as many as fit. A component that was called by another has no conversation of its own: it is given none, unless
   * it asks for the session's.
   */
  readonly history: (options?: HistoryOptions) => Promise<readonly HistoryMessage[]>
  /** Refuses the run: it ends as `run.rejected`. */
  readonly reject: (reason: string) => never
}

export interface HistoryOptions {
  /** `component`: runs of the same component, which is the default; `session`: runs of any. */
  readonly of?: 'component' | 'session'
  /** 0 is none. Default: `historyMessagesMax` of the server's limits. */
  readonly messagesMax?: number
  /** Of their contents. Default: `historyBytesMax` of the server's limits. */
  readonly bytesMax?: number
}

/** Half of an exchange: what a run was asked, or what it answered. */
export interface HistoryMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly run: string
}

/** What a step is, for those who watch. */
export type StepDetails = Pick<EventData['step.started'], 'kind' | 'parent' | 'details'>

export interface StepCallOptions extends StepDetails {
  /** Tells steps of one name apart: needed where several of them run at once. */
  readonly key?: string
  /**
   * Called instead of the work when the log has the step's result: it goes again through what the step did, so that it says
   * again what it said. It can do nothing that the log does not have.
   */
  readonly revisit?: () => Promise<unknown>
}

export interface CallOptions {
  /** Instead of the component's id: what it is called in keys and ids. */
  readonly name?: string
  /** Aborts this call only. */
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  /** Withdraw what it emitted when it fails: it will be tried again. */
  readonly withdrawFailure?: boolean
}

export interface ToolCall {
  readonly name: string
  /** Id of the call where there is one, such as a model's; one is made otherwise. */
  readonly id?: string
  readonly input: unknown
  /** May be repeated without harm. */
  readonly idempotent?: boolean
}

export interface ToolAttempt {
  readonly key: string
  readonly signal: AbortSignal
  /**
   * Shows something to those who watch, as `tool.progressed`, while the work goes on. It is no part of the result. Whoever
   * awaits it is held back when the log is behind; otherwise what is not written yet gives way to what is newer.
   */
  readonly progress: (value: unknown) => Promise<void>
}

export interface AskOptions extends Partial<Omit<Question, 'id' | 'deadline'>> {
  readonly prompt: string
  /**
   * Names the question. A recorded answer is given to the question with the same prompt, kind and schema; with a key, to that
   * with the same key, kind and schema, so that the prompt may change.
   */
  readonly key?: string
  /** How long an answer is waited for; the run fails after it. */
  readonly timeoutMs?: number
}

/** Thrown by `context.reject`; an agent should let it pass. */
export class RejectedError extends Error {
  override readonly name = 'RejectedError'
}

/**
 * What `step`, `stage`, `tool` and `call` reject with, in every attempt alike: all of it but `cause` is in the log. Its name is
 * that of the error that was thrown; that error itself is the `cause`, in the attempt in which it was thrown.
 */
export class WorkFailure extends Error {
  override readonly name: string
  readonly failure: Failure

  constructor(failure: Failure, options?: { readonly cause?: unknown }) {
    super(failure.message, options)
    this.failure = failure
    const { type } = thrownIn(failure)
    this.name = typeof type === 'string' ? type : 'WorkFailure'
  }

  /** That of the error that was thrown, where it had one; else that of the failure. */
  get code(): string | number {
    const { code } = thrownIn(this.failure)
    return typeof code === 'string' || typeof code === 'number' ? code : this.failure.code
  }

  /** What the error that was thrown had as its `data`, as the log has it. */
  get data(): unknown {
    return thrownIn(this.failure).data
  }
}

/** What the log says of the error behind a failure. */
function thrownIn({ details }: Failure): { readonly type?: unknown; readonly code?: unknown; readonly data?: unknown } {
  return typeof details === 'object' && details !== null ? details : {}
}

/** `emit('tool.called', { … })`: an event, typed by its name. */
export function emit<Type extends Event['type']>(type: Type, data: EventData[Type]): Event {
  return { type, data } as unknown as Event
}
