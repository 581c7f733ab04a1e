/** The component interface: what a user implements, and the context that it gets while it runs. */
import { acrossCopies } from '../model/across-copies.ts'
import type { Event, EventData, Failure, Question } from '../model/event.ts'
import type { Limits } from '../model/limits.ts'
import type { RedactOptions } from '../redaction/redaction.ts'
import type { ValueSchema } from './schema.ts'

export type ComponentKind = 'agent' | 'team' | 'workflow'

/** What happens to a run whose worker died: it fails, starts again from scratch, or resumes with its recorded results. */
export type RecoveryPolicy = 'fail' | 'retry' | 'resume'

/** What happens to a new run if its session has an unfinished one. */
export type BusyPolicy = 'reject' | 'enqueue' | 'interrupt' | 'parallel'

/**
 * What happens to a run when the client that started it disconnects, in protocols where starting and following are one request.
 * Default: `continue`.
 */
export type DisconnectPolicy = 'continue' | 'stop'

/** What happens to the agent of a paused run: it stays in memory, or it is released and rebuilt from the log when the run is answered. */
export type PausePolicy = 'keep' | 'release'

/** What happens to a tool call that is not idempotent and was interrupted by a crash. */
export type UncertainPolicy = 'ask' | 'fail'

/** What happens to a recovered run whose code no longer matches its log: it asks its owner, or fails. */
export type DivergencePolicy = 'ask' | 'fail'

/**
 * What happens to an event that cannot be serialized or is too large. `fail`: the run fails. `replace`: a placeholder names the
 * event and the path of the value, and the run continues. Results of steps and tools, and the end of a run, always fail.
 */
export type UnserializablePolicy = 'fail' | 'replace'

/** What an agent may yield: a piece of text, or an event. */
export type Emission = string | Event

/** A value that the agent returns becomes the output of `run.completed`. */
export type AgentStream = AsyncIterable<Emission> | AsyncGenerator<Emission, unknown, void>

/** Parts of a component, for listings only. */
export interface ComponentMetadata {
  readonly model?: { readonly id: string; readonly provider?: string }
  /** Members of a team. `mode`: how they work together. */
  readonly members?: readonly ComponentDescription[]
  readonly mode?: string
}

/** Origin of a component of another server. */
export interface UpstreamInfo {
  /** `agentos`, `openai` or `a2a`. */
  readonly protocol: string
  /** Name of the upstream, as configured. */
  readonly name: string
  /** Its id on the upstream. Clients may use it too, with the upstream's prefix. */
  readonly id: string
  /** The upstream also supports OpenAI's Responses API. */
  readonly responses?: true
  /** The upstream gets the credential of the caller, and verifies it. */
  readonly verifiesCaller?: true
}

/** A component's description, available without running it. */
export type ComponentDescription = Omit<Component, 'run' | 'input' | 'output' | 'admit' | 'redact'>

/** `Input`: what callers send. `Parsed`: what its input schema returns. */
export interface Component<Input = unknown, Output = unknown, Parsed = Input> {
  readonly id: string
  readonly kind: ComponentKind
  readonly name?: string
  readonly description?: string
  /** Version of its code. Runs record the versions that accepted, started and resumed them. Holdfast does not compare versions. */
  readonly version?: string
  readonly info?: ComponentMetadata
  /** The upstream that executes it, for a component of another server. */
  readonly upstream?: UpstreamInfo
  /**
   * What happens to a run whose process died. Default: `resume` for components whose work is recorded (model agents, teams, workflows,
   * LangGraph graphs, remote agents), `fail` for all others: their effects outside of recorded work would happen again.
   */
  readonly recovery?: RecoveryPolicy
  /** Default: `parallel`. */
  readonly onBusySession?: BusyPolicy
  /** Default: `continue`. */
  readonly onDisconnect?: DisconnectPolicy
  /** Default: `ask`. */
  readonly onUncertainTool?: UncertainPolicy
  /** Default: `ask`. */
  readonly onDivergence?: DivergencePolicy
  /** Default: `fail`. */
  readonly onUnserializable?: UnserializablePolicy
  /** Default: `keep`, for at most `maxParkedRuns` agents. */
  readonly onPause?: PausePolicy
  readonly limits?: Partial<
    Pick<
      Limits,
      | 'runTimeoutMs'
      | 'runIdleTimeoutMs'
      | 'replayWaitMs'
      | 'maxAttempts'
      | 'stopGraceMs'
      | 'maxConcurrentWork'
      | 'maxTotalWork'
      | 'maxTotalCalls'
    >
  >
  /** Redaction rules, in addition to the server's. In a run that calls the component, they apply from the first call on. */
  readonly redact?: RedactOptions
  /**
   * Standard Schema of the input. Inputs that do not match are refused before a run is accepted. The log contains the input as sent,
   * and every attempt parses it again, so a transform must return the same value each time. Its JSON Schema is published, for forms.
   */
  readonly input?: ValueSchema<Input, Parsed>
  /**
   * Standard Schema of the output. A run whose output does not match fails with `invalid_output`. The log contains the schema's
   * result.
   */
  readonly output?: ValueSchema<unknown, Output>
  /** Called before a run is accepted. If it throws, the start is refused. Not called again when the run executes. */
  readonly admit?: () => void
  run(input: Parsed, context: RunContext): AgentStream
}

/** The context of a run. It can be destructured: `async *run(input, { step, ask })`. */
export interface RunContext {
  /** Id of the run. For a component that another one called: its own id within that run. */
  readonly runId: string
  readonly sessionId: string
  /** Key of the principal that started the run. */
  readonly owner: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** Attempt number, 1 for the first start. */
  readonly attempt: number
  /** Whether output is still being matched with an earlier attempt's. Delays may be skipped. */
  readonly replaying: boolean
  /** Aborted by a stop, a deadline, an idle timeout, or loss of the lease. */
  readonly signal: AbortSignal
  /**
   * Executes work once per run: its result is in the log before this resolves, and a recovered run gets it from there. Results
   * are returned as JSON values. An interrupted step is repeated.
   */
  readonly step: <Result>(
    name: string,
    work: (signal: AbortSignal) => Promise<Result> | Result,
    options?: ContextStepOptions,
  ) => Promise<Result>
  /**
   * A step with output: what it yields is logged immediately. A recovered run that has its result neither executes it nor yields its
   * output again. If it fails, its output is retracted.
   */
  readonly stage: <Result>(
    name: string,
    work: () => AsyncGenerator<Emission, Result, void>,
    options?: ContextStepOptions,
  ) => Promise<Result>
  /**
   * Calls a tool: the intent is durable before the work starts, the result after. An interrupted call is repeated only if it is
   * idempotent. `key` is the same in every attempt: pass it to the called service as an idempotency key.
   */
  readonly tool: <Result>(call: ToolCall, work: (call: ToolAttempt) => Promise<Result> | Result) => Promise<Result>
  /**
   * Runs another component within this run. Its output is logged under its own actor, and its result is recorded, so that a
   * recovered run does not repeat it. Rejects with `WorkError` if the component fails; this run continues.
   */
  readonly call: <Input, Output>(
    // oxlint-disable-next-line typescript/no-explicit-any -- what its schema makes of the input is its own concern
    component: Component<Input, Output, any>,
    input: Input,
    options?: CallOptions,
  ) => Promise<Output>
  /** The same context with its own namespace for steps, tools, questions and calls: for concurrent branches. */
  readonly within: (branch: string) => RunContext
  /**
   * Sleeps for any length of time; in a recovered run, only for the rest. Sleeping counts neither towards the run's deadline nor as
   * idle time. Rejects when the run is aborted.
   */
  readonly sleep: (milliseconds: number) => Promise<void>
  /** Sleeps until a time: a date, an ISO string, or milliseconds since 1970. */
  readonly sleepUntil: (time: Date | string | number) => Promise<void>
  /**
   * Pauses the run until the question is answered, for days if necessary. With a `schema`, answers that do not match are refused and
   * the result is what the schema returns.
   */
  readonly ask: Ask
  /**
   * Inputs and outputs of earlier runs of this session and owner, oldest first: the newest runs within the limits, among those that
   * had ended when this run first started. A called component gets none, unless it passes `of: 'session'`.
   */
  readonly history: (options?: HistoryOptions) => Promise<readonly HistoryMessage[]>
  /** Rejects the run: it ends as `run.rejected`. */
  readonly reject: (reason: string) => never
}

/** `context.ask`: asks the user a question and resolves with the answer. */
export interface Ask {
  <Answer>(question: AskOptions & { readonly schema: ValueSchema<unknown, Answer> }): Promise<Answer>
  (question: string | AskOptions): Promise<unknown>
}

/** Options of `context.history`. */
export interface HistoryOptions {
  /** `component`: runs of the same component. `session`: runs of any component. Default: `component`. */
  readonly of?: 'component' | 'session'
  /** Maximum number of messages. Default: `maxHistoryMessages` of the server's limits. */
  readonly maxMessages?: number
  /** Maximum size of their contents, in bytes. Default: `maxHistoryBytes` of the server's limits. */
  readonly maxBytes?: number
}

/** Input or output of a run. */
export interface HistoryMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly run: string
}

/** Description of recorded work, for subscribers. */
export type WorkDetails = Pick<EventData['step.started'], 'kind' | 'parent' | 'details'>

/** Options of `context.step`. */
export interface ContextStepOptions extends WorkDetails {
  /** Distinguishes steps of one name. Required if several of them run concurrently. Default: none. */
  readonly key?: string
  /**
   * Called instead of the work when the step's result is logged: repeats what the step did against the log, so that its output is
   * matched. It cannot start new work. Default: none.
   */
  readonly revisit?: () => Promise<unknown>
}

/** Options of `context.call`. */
export interface CallOptions {
  /** Distinguishes calls of one component in keys and ids. Default: the component's id. */
  readonly name?: string
  /** Aborts this call only. Default: none. */
  readonly signal?: AbortSignal
  /** Maximum duration of the call. Default: no limit. */
  readonly timeoutMs?: number
  /** Retract its output if it fails, because it will be retried. Default: false. */
  readonly retractFailure?: boolean
}

/** The tool call that `context.tool` records. */
export interface ToolCall {
  readonly name: string
  /** Id of the call, such as the model's. Default: generated. */
  readonly id?: string
  readonly input: unknown
  /** Whether it may be repeated after a crash. Default: false. */
  readonly idempotent?: boolean
}

/** Argument of the function of `context.tool`: an idempotency key, a signal, and a function to report progress. */
export interface ToolAttempt {
  readonly key: string
  readonly signal: AbortSignal
  /**
   * Emits `tool.progressed` for subscribers. It is not part of the result. Awaiting it applies backpressure; otherwise newer
   * progress replaces progress that is not logged yet.
   */
  readonly progress: (value: unknown) => Promise<void>
}

/** `schema`: a Standard Schema of the answer, or a JSON Schema, which gives the answer no type. */
export interface AskOptions extends Partial<Pick<Question, 'kind' | 'schema' | 'details'>> {
  readonly prompt: string
  /**
   * Identifies the question. A recorded answer belongs to the question with the same prompt, kind and schema; with a key, to the one
   * with the same key, kind and schema, so that the prompt may change. Default: none.
   */
  readonly key?: string
  /** Maximum time to wait for an answer; then the run fails. Default: no limit. */
  readonly timeoutMs?: number
}

/** Thrown by `context.reject`. An agent should not catch it. */
export class RejectedError extends Error {
  static {
    acrossCopies(this, 'RejectedError')
  }

  override readonly name = 'RejectedError'
}

/**
 * Rejection of `step`, `stage`, `tool` and `call`, equal in every attempt: everything but `cause` is logged. `name`: that of the
 * thrown error. `cause`: the thrown error itself, in the attempt that threw it.
 */
export class WorkError extends Error {
  static {
    acrossCopies(this, 'WorkError')
  }

  override readonly name: string
  readonly failure: Failure

  constructor(failure: Failure, options?: { readonly cause?: unknown }) {
    super(failure.message, options)
    this.failure = failure
    const { type } = thrownIn(failure)
    this.name = typeof type === 'string' ? type : 'WorkError'
  }

  /** The code of the thrown error, or of the failure. */
  get code(): string | number {
    const { code } = thrownIn(this.failure)
    return typeof code === 'string' || typeof code === 'number' ? code : this.failure.code
  }

  /** `data` of the thrown error, as logged. */
  get data(): unknown {
    return thrownIn(this.failure).data
  }
}

/** The thrown error behind a failure, as logged. */
function thrownIn({ details }: Failure): { readonly type?: unknown; readonly code?: unknown; readonly data?: unknown } {
  return typeof details === 'object' && details !== null ? details : {}
}

/** Creates a typed event: `createEvent('tool.called', { … })`. */
export function createEvent<Type extends Event['type']>(type: Type, data: EventData[Type]): Event {
  return { type, data } as unknown as Event
}

/**
 * Emits events that are appended together or not at all. For adapters; wrappers of components see one opaque event. `isSnapshot`:
 * the first event repeats the whole output so far. Of the others, a recovered run appends only those that are not logged.
 */
export function emitTogether(events: readonly Event[], { isSnapshot = false } = {}): Emission {
  const batch: EventBatch = Object.assign([...events], { isSnapshot })
  return batch as unknown as Event
}

/** What `emitTogether` returns. */
export type EventBatch = readonly Event[] & { readonly isSnapshot?: boolean }
