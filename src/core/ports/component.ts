/** The component interface: what a user implements, and the context that it gets while it runs. */
import { acrossCopies } from '../model/across-copies.ts'
import type { Event, EventData, Failure, Question } from '../model/event.ts'
import type { Limits } from '../model/limits.ts'
import type { RedactOptions } from '../redaction/redaction.ts'
import type { ValueSchema } from './schema.ts'

export type ComponentKind = 'agent' | 'team' | 'workflow'

/** What happens to a run whose worker died: it fails, restarts from nothing, or resumes with its recorded results. */
export type Recovery = 'fail' | 'retry' | 'resume'

/** What a new run does when its session has an unfinished one. */
export type BusyPolicy = 'reject' | 'enqueue' | 'interrupt' | 'parallel'

/**
 * What happens to a run when the client that started it disconnects, in protocols where starting and following are one request.
 * Default: `continue`.
 */
export type DisconnectPolicy = 'continue' | 'stop'

/** What happens after a crash within a tool call that is not idempotent. */
export type UncertainPolicy = 'ask' | 'fail'

/** What happens to a recovered run whose code no longer fits its log: it asks its owner, or fails. */
export type DivergencePolicy = 'ask' | 'fail'

/**
 * What happens to an event that the log cannot hold. `fail`: the run fails. `replace`: a placeholder names the event and the path of the
 * value, and the run continues. Results of steps and tools, and the end of a run, always fail.
 */
export type UnserializablePolicy = 'fail' | 'replace'

/** What an agent may yield: a piece of text, or an event. */
export type Emission = string | Event

/** A value that the agent returns becomes the output of `run.completed`. */
export type AgentStream = AsyncIterable<Emission> | AsyncGenerator<Emission, unknown, void>

/** What a component is made of, for listings. Nothing depends on it. */
export interface ComponentMetadata {
  readonly model?: { readonly id: string; readonly provider?: string }
  /** Members of a team; `mode` is how they work together. */
  readonly members?: readonly ComponentDescription[]
  readonly mode?: string
}

/** Where a component of another server comes from. */
export interface UpstreamInfo {
  /** `agentos`, `openai` or `a2a`. */
  readonly protocol: string
  /** Name of the upstream, as configured. */
  readonly name: string
  /** Its id there. Clients may use it too, with the upstream's prefix. */
  readonly id: string
  /** It also speaks OpenAI's Responses API. */
  readonly responses?: true
}

/** A component's description, available without running it. */
export type ComponentDescription = Omit<Component, 'run' | 'input' | 'output' | 'admit' | 'redact'>

/** `Input`: what callers send. `Parsed`: what its input schema makes of that. */
export interface Component<Input = unknown, Output = unknown, Parsed = Input> {
  readonly id: string
  readonly kind: ComponentKind
  readonly name?: string
  readonly description?: string
  /** Version of its code. Runs record the versions that accepted, started and resumed them. Nothing compares versions. */
  readonly version?: string
  readonly info?: ComponentMetadata
  /** The server that does its work, if it stands for a component of another server. */
  readonly upstream?: UpstreamInfo
  /**
   * What happens to a run whose process died. Default: `resume` for components whose work is recorded (model agents, teams, workflows,
   * LangGraph graphs, remote agents), `fail` for all others: their effects outside of recorded work would happen again.
   */
  readonly recovery?: Recovery
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
  readonly limits?: Partial<
    Pick<
      Limits,
      | 'runTimeoutMs'
      | 'runIdleTimeoutMs'
      | 'replayWaitMs'
      | 'maxAttempts'
      | 'stopGraceMs'
      | 'maxWorkInFlight'
      | 'maxTotalWork'
      | 'maxTotalCalls'
    >
  >
  /**
   * What happens to the agent of a paused run: it stays in memory, at most `maxParkedRuns` of them, or it is released, and rebuilt from
   * the log by the answer. Default: `keep`.
   */
  readonly onPause?: 'keep' | 'release'
  /** Redaction of its runs, in addition to the server's. In a run that calls it, from its first call on. */
  readonly redact?: RedactOptions
  /**
   * Any Standard Schema: inputs that do not fit it are refused before a run is accepted. The log has the input as it was sent, and
   * every attempt parses it again, so a transform must return the same value each time. Its JSON Schema is published, for forms.
   */
  readonly input?: ValueSchema<Input, Parsed>
  /** A Standard Schema of the output. A run whose output does not fit fails with `invalid_output`. The log has what it returns. */
  readonly output?: ValueSchema<unknown, Output>
  /** Called before a run is accepted; what it throws refuses the start. Not called again when the run executes. */
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
  /** 1 for the first start. */
  readonly attempt: number
  /** Whether output is still being matched with that of an earlier attempt. Delays may be skipped. */
  readonly replaying: boolean
  /** Aborted by a stop, a deadline, an idle timeout, or the loss of the lease. */
  readonly signal: AbortSignal
  /**
   * Executes work once per run: its result is in the log before this resolves, and a recovered run gets it from there. Results
   * are returned as JSON values. An interrupted step is repeated.
   */
  readonly step: <Result>(
    name: string,
    work: (signal: AbortSignal) => Promise<Result> | Result,
    options?: StepCallOptions,
  ) => Promise<Result>
  /**
   * A step with output: what it yields is logged as it comes. A recovered run that has its result neither executes it nor yields its
   * output again. If it fails, its output is retracted.
   */
  readonly stage: <Result>(
    name: string,
    work: () => AsyncGenerator<Emission, Result, void>,
    options?: StepCallOptions,
  ) => Promise<Result>
  /**
   * Calls a tool: the intent is durable before the work starts, the result after. An interrupted call is repeated only if it is
   * idempotent. `key` is the same in every attempt: pass it to the called service as an idempotency key.
   */
  readonly tool: <Result>(call: ToolCall, work: (call: ToolAttempt) => Promise<Result> | Result) => Promise<Result>
  /**
   * Runs another component within this run: its output is in this log under its own actor, and its result is recorded, so that a
   * recovered run does not repeat it. Rejects with `WorkError` if it fails, which does not end this run.
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
   * Waits for any length of time; in a recovered run, only for the rest of it. Sleeping counts neither towards the deadline of the
   * run nor as idle time. Rejects when the run is aborted.
   */
  readonly sleep: (milliseconds: number) => Promise<void>
  /** Waits until a time: a date, an ISO string, or milliseconds since 1970. */
  readonly sleepUntil: (time: Date | string | number) => Promise<void>
  /**
   * Pauses the run until somebody answers, for days if necessary. With a `schema`, answers that do not fit are refused and the result
   * is what the schema returns.
   */
  readonly ask: Ask
  /**
   * Inputs and outputs of earlier runs of this session and owner: those that had ended when this run first started, oldest first, as
   * many as fit. A called component gets none, unless it asks for the session's.
   */
  readonly history: (options?: HistoryOptions) => Promise<readonly HistoryMessage[]>
  /** Rejects the run: it ends as `run.rejected`. */
  readonly reject: (reason: string) => never
}

/** Asks the user a question, and resolves with the answer: `context.ask`. */
export interface Ask {
  <Answer>(question: AskOptions & { readonly schema: ValueSchema<unknown, Answer> }): Promise<Answer>
  (question: string | AskOptions): Promise<unknown>
}

/** Options of `context.history`. */
export interface HistoryOptions {
  /** `component`: runs of the same component; `session`: runs of any. Default: `component`. */
  readonly of?: 'component' | 'session'
  /** Maximum number of messages. Default: `maxHistoryMessages` of the server's limits. */
  readonly maxMessages?: number
  /** Maximum size of their contents. Default: `maxHistoryBytes` of the server's limits. */
  readonly maxBytes?: number
}

/** Input or output of a run. */
export interface HistoryMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly run: string
}

/** Description of a step, for subscribers. */
export type StepDetails = Pick<EventData['step.started'], 'kind' | 'parent' | 'details'>

/** Options of `context.step`. */
export interface StepCallOptions extends StepDetails {
  /** Distinguishes steps of one name. Required if several of them run at once. */
  readonly key?: string
  /**
   * Called instead of the work when the log has the step's result: it repeats what the step did against the log, so that its output
   * is matched. It cannot start new work.
   */
  readonly revisit?: () => Promise<unknown>
}

/** Options of `context.call`. */
export interface CallOptions {
  /** Its name in keys and ids. Default: the component's id. */
  readonly name?: string
  /** Aborts this call only. */
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  /** Retract its output if it fails, because it will be retried. Default: false. */
  readonly retractFailure?: boolean
}

/** The tool call that `context.tool` records. */
export interface ToolCall {
  readonly name: string
  /** Id of the call, such as a model's. Default: a generated one. */
  readonly id?: string
  readonly input: unknown
  /** Whether it may be repeated after a crash. Default: false. */
  readonly idempotent?: boolean
}

/** What the function of `context.tool` gets: a key for idempotent calls, a signal, and a way to report progress. */
export interface ToolAttempt {
  readonly key: string
  readonly signal: AbortSignal
  /**
   * Emits `tool.progressed` for subscribers while the work continues. It is not part of the result. Awaiting it applies
   * backpressure; otherwise newer progress replaces what is not written yet.
   */
  readonly progress: (value: unknown) => Promise<void>
}

/** `schema`: a Standard Schema of the answer, or a JSON Schema, whose answers have no type. */
export interface AskOptions extends Partial<Omit<Question, 'id' | 'deadline'>> {
  readonly prompt: string
  /**
   * Identifies the question. A recorded answer belongs to the question with the same prompt, kind and schema; with a key, to the one
   * with the same key, kind and schema, so that the prompt may change.
   */
  readonly key?: string
  /** Time to wait for an answer; then the run fails. Default: no limit. */
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
 * What `step`, `stage`, `tool` and `call` reject with, the same in every attempt: everything but `cause` is in the log. `name` is
 * that of the thrown error. `cause` is the thrown error itself, in the attempt in which it was thrown.
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

  /** The code of the thrown error, or that of the failure. */
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

/** `createEvent('tool.called', { … })`: an event, typed by its name. */
export function createEvent<Type extends Event['type']>(type: Type, data: EventData[Type]): Event {
  return { type, data } as unknown as Event
}

/**
 * Events that are appended together or not at all, as one emission. For adapters; wrappers of components see one opaque event.
 * `isSnapshot`: the first event shows all that was said so far. Of the others, a recovered run appends only what its log lacks.
 */
export function emitTogether(events: readonly Event[], { isSnapshot = false } = {}): Emission {
  const batch: EventBatch = Object.assign([...events], { isSnapshot })
  return batch as unknown as Event
}

/** What `emitTogether` returns. */
export type EventBatch = readonly Event[] & { readonly isSnapshot?: boolean }
