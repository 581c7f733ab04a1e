/**
 * The closed event vocabulary. An event is emitted by an agent or written by Holdfast; the log numbers it.
 * Names are `noun.verb`; the table below says what each type does to its run.
 */
import { isTerminalType } from '../structure/run-status.ts'

/**
 * The actor that emitted an event: a team member, or what a workflow step executes. Absent for the run's own component. The
 * lifecycle of actors is in `actor.*`, so `run.*` events are always about the log's own run.
 */
export interface Actor {
  /** Id of the component. */
  readonly component: string
  /** The actor's own run id: the log's run id plus the position of the call. Equal in every attempt. */
  readonly run: string
  /** Run id of the actor that called this one; the log's run for a direct member. */
  readonly parent?: string
  readonly kind?: 'agent' | 'team' | 'workflow'
}

/** Tokens. At the end of a run or an actor: the total, including called components and retracted output. */
export interface Usage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly totalTokens?: number
  readonly reasoningTokens?: number
  readonly cachedInputTokens?: number
}

/** Description of a failure. No stack and no raw exception object ever enters a log. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly retryable?: boolean
  readonly details?: unknown
}

/** A question that a paused run waits for. */
export interface Question {
  readonly id: string
  /**
   * `input`: a question of the agent; `uncertain`: whether to repeat an interrupted tool call; `diverged`: what to do with a run
   * whose code no longer matches its log.
   */
  readonly kind: 'input' | 'approval' | 'tool' | 'choice' | 'review' | 'uncertain' | 'diverged'
  /** The actor that asks, unless it is the run's own component. */
  readonly actor?: Actor
  readonly prompt: string
  /** JSON schema of the answer. */
  readonly schema?: unknown
  /** Details for the person who answers: the tool call, the choices, the output under review. */
  readonly details?: unknown
  /** ISO time after which the question can no longer be answered. */
  readonly deadline?: string
}

/** Recorded when an interrupted run starts again: it may have caused the crash. */
export interface Suspect {
  /** Consecutive interruptions without progress. */
  readonly interruptions: number
  /** Maximum suspects that may execute concurrently, including this one. */
  readonly concurrency: number
}

export type StepKind =
  | 'model'
  | 'function'
  | 'agent'
  | 'team'
  | 'sequence'
  | 'parallel'
  | 'loop'
  | 'condition'
  | 'router'
  | 'workflow'

/** Set for a run that branches from an earlier one at a position in its conversation, instead of following it. */
export interface Branch {
  /** Id of the earlier run. Its messages up to that position are part of this run's input. */
  readonly from: string
  /** Id of the run before which session history ends. */
  readonly before: { readonly createdAt: string; readonly id: string }
  /** Replaces the earlier run in the history of later runs, once this run has ended and not failed. */
  readonly replaces?: true
}

/** Identity of recorded work in its first event, by which a recovered run finds the record of a call (RUN-5). */
export interface WorkMarks {
  /** The enclosing work, as `kind:key`; '' if none. */
  readonly within?: string
  /** Keyed digest of the input; absent for work without input. */
  readonly digest?: string
}

/**
 * Every event type with its data. Tool and step events with a `key` form the run's ledger, from which a recovered run knows what is
 * done. Only Holdfast sets keys. The first event of a piece of work has its `WorkMarks`.
 */
export interface EventData {
  'run.created': {
    readonly component: string
    /** Version of the component that accepted the run. */
    readonly version?: string
    readonly input: unknown
    readonly session: string
    readonly metadata?: Readonly<Record<string, unknown>>
    readonly protocol?: string
    readonly branch?: Branch
    /** Set for runs of an upstream: the protocol whose original events the log contains (`upstream.received`). */
    readonly upstream?: string
  }
  'run.started': { readonly attempt: number; readonly version?: string; readonly suspect?: Suspect }
  'run.released': { readonly reason: 'draining' | 'answered' | 'store_unavailable' }
  'run.paused': {
    readonly questions: readonly Question[]
    /** By question id: the identity by which a recovered run finds the question. */
    readonly work?: Readonly<Record<string, WorkMarks>>
  }
  /** `version`: version of the component that resumes; absent if the next worker that claims the run starts it. */
  'run.resumed': {
    readonly answers: Readonly<Record<string, unknown>>
    readonly by?: string
    readonly version?: string
  }
  'run.completed': { readonly output?: unknown; readonly usage?: Usage }
  'run.failed': { readonly error: Failure; readonly usage?: Usage }
  'run.cancelled': { readonly reason?: string; readonly by?: string; readonly usage?: Usage }
  'run.rejected': { readonly reason: string }
  'stop.requested': { readonly reason?: string; readonly by?: string }
  /**
   * Retracts the output from `from` up to this event: of everyone (scope `all`), of the event's actor (`own`), or also of the actors
   * that it called (`below`). With `ledger: 'kept'`, results of steps, tools and actors stay valid.
   */
  'attempt.discarded': {
    readonly attempt: number
    readonly from: number
    readonly scope: 'all' | 'own' | 'below'
    readonly ledger: 'kept' | 'dropped'
    readonly reason: string
  }
  'actor.started': {
    readonly input: unknown
    readonly key: string
    readonly within?: string
    readonly digest?: string
  }
  'actor.completed': { readonly output?: unknown; readonly usage?: Usage; readonly key: string }
  'actor.failed': { readonly error: Failure; readonly usage?: Usage; readonly key: string }
  'text.started': { readonly message: string }
  'text.delta': { readonly text: string; readonly message?: string }
  'text.completed': { readonly message: string }
  'reasoning.started': { readonly message: string }
  'reasoning.delta': { readonly text: string; readonly message?: string }
  'reasoning.completed': { readonly message: string }
  'tool.drafted': { readonly call: string; readonly name: string; readonly delta: string }
  'tool.called': {
    readonly call: string
    readonly name: string
    readonly input: unknown
    readonly key?: string
    readonly within?: string
    readonly digest?: string
  }
  'tool.progressed': { readonly call: string; readonly output: unknown; readonly key?: string }
  'tool.completed': { readonly call: string; readonly name: string; readonly output: unknown; readonly key?: string }
  'tool.failed': { readonly call: string; readonly name: string; readonly error: Failure; readonly key?: string }
  'model.requested': { readonly request: string; readonly model: string; readonly provider?: string }
  'model.responded': {
    readonly request: string
    readonly model: string
    readonly finish?: string
    readonly usage?: Usage
  }
  'step.started': {
    readonly step: string
    readonly name: string
    readonly kind?: StepKind
    readonly parent?: string
    readonly details?: unknown
    /** The actor's output until the step ends is part of the step, and is retracted if the step fails. */
    readonly covers?: true
    readonly key?: string
    readonly within?: string
    readonly digest?: string
  }
  'step.completed': { readonly step: string; readonly name: string; readonly output?: unknown; readonly key?: string }
  'step.failed': { readonly step: string; readonly name: string; readonly error: Failure; readonly key?: string }
  'step.skipped': { readonly step: string; readonly name: string; readonly reason?: string }
  /** The run sleeps until an ISO time. */
  'sleep.started': {
    readonly until: string
    readonly key: string
    readonly within?: string
    readonly digest?: string
  }
  /** One chunk of an artifact. `append` continues the previous chunk, `last` ends the artifact. */
  'artifact.added': {
    readonly artifact: string
    readonly name?: string
    readonly mediaType: string
    readonly text?: string
    readonly bytes?: unknown
    readonly url?: string
    readonly value?: unknown
    readonly append?: boolean
    readonly last?: boolean
  }
  'source.cited': {
    readonly source: string
    readonly url?: string
    readonly title?: string
    readonly mediaType?: string
  }
  'state.replaced': { readonly state: unknown }
  /** RFC 6902 operations. */
  'state.patched': { readonly patch: readonly unknown[] }
  'custom.emitted': { readonly name: string; readonly value?: unknown }
  /**
   * An original event of the upstream that executes the run; the events derived from it follow in the same append. Without `data`,
   * only the derived events were logged.
   */
  'upstream.received': { readonly protocol: string; readonly name: string; readonly data?: unknown }
}

export type EventType = keyof EventData

/** `terminal` ends the run, `pause` pauses it, `lifecycle` changes its state, `content` does not. */
export type EventEffect = 'terminal' | 'pause' | 'lifecycle' | 'content'

/** The effect of an event type on its run, and who may write it. */
export interface EventRule {
  readonly effect: EventEffect
  /** Whether an agent may emit it. The others are written only by Holdfast. */
  readonly agent: boolean
}

const terminalOfAgent: EventRule = { effect: 'terminal', agent: true }
const terminalOfRunner: EventRule = { effect: 'terminal', agent: false }
const lifecycle: EventRule = { effect: 'lifecycle', agent: false }
const content: EventRule = { effect: 'content', agent: true }
const ledger: EventRule = { effect: 'content', agent: false }

/** All event types. */
export const eventTable: Readonly<Record<EventType, EventRule>> = {
  'run.created': lifecycle,
  'run.started': lifecycle,
  'run.released': lifecycle,
  'run.paused': { effect: 'pause', agent: false },
  'run.resumed': lifecycle,
  'run.completed': terminalOfAgent,
  'run.failed': terminalOfAgent,
  'run.cancelled': terminalOfRunner,
  'run.rejected': terminalOfAgent,
  'stop.requested': lifecycle,
  'attempt.discarded': lifecycle,
  'actor.started': ledger,
  'actor.completed': ledger,
  'actor.failed': ledger,
  'text.started': content,
  'text.delta': content,
  'text.completed': content,
  'reasoning.started': content,
  'reasoning.delta': content,
  'reasoning.completed': content,
  'tool.drafted': content,
  'tool.called': content,
  'tool.progressed': content,
  'tool.completed': content,
  'tool.failed': content,
  'model.requested': content,
  'model.responded': content,
  'step.started': content,
  'step.completed': content,
  'step.failed': content,
  'step.skipped': content,
  'sleep.started': ledger,
  'artifact.added': content,
  'source.cited': content,
  'state.replaced': content,
  'state.patched': content,
  'custom.emitted': content,
  'upstream.received': content,
}

/** An event before it has an index in a log. */
export type Event = {
  [Type in EventType]: { readonly type: Type; readonly data: EventData[Type]; readonly actor?: Actor }
}[EventType]

/** An event in a log: the envelope that every subscriber of the native protocol receives. */
export type LoggedEvent = Event & { readonly run: string; readonly index: number; readonly time: string }

/** A logged event of one type, or of several. */
export type LoggedEventOf<Type extends EventType> = Extract<LoggedEvent, { type: Type }>

export function isEventType(value: unknown): value is EventType {
  return typeof value === 'string' && Object.hasOwn(eventTable, value)
}

/** Whether an event of this type ends its run. */
export function isTerminal(type: EventType): boolean {
  return isTerminalType(type)
}
