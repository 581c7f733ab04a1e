/** Workflow data model: steps and blocks as plain data that carry input and output types. */
import type { Component, ComponentKind, Emission, RunContext } from '../../core/ports/component.ts'

/** What a workflow function gets besides its input. */
export interface WorkflowContext extends Pick<RunContext, 'runId' | 'sessionId' | 'owner' | 'metadata' | 'signal'> {
  /** Outputs of previous steps by name, on the same level and on enclosing ones. */
  readonly outputs: Readonly<Record<string, unknown>>
}

/** The context of a step's function: that of the run, and the outputs of earlier steps. */
export interface StepContext extends RunContext, WorkflowContext {
  /** Feedback on the step's previous output. */
  readonly feedback?: string
  /** The answer to the step's `question`. */
  readonly answer?: unknown
}

/** How a failure is handled after the last attempt: end the workflow, skip the step, or ask a person. */
export type StepErrorPolicy = 'fail' | 'skip' | 'ask'

/** Options of every question that a step asks. */
export interface StepQuestionOptions {
  readonly prompt: string
  /** Timeout for the answer; then the run fails. Default: no limit. */
  readonly timeoutMs?: number
}

/** A question before a step: may it run? */
export interface StepConfirmation extends StepQuestionOptions {
  /** Effect of a refusal. Default: `skip`. */
  readonly onReject?: 'skip' | 'fail'
}

/** A question before a step, whose answer the step gets. */
export interface StepQuestion extends StepQuestionOptions {
  /** JSON schema of the answer. */
  readonly schema?: unknown
}

/** A question after a step: is its output accepted? Feedback runs the step again. */
export interface StepReview extends StepQuestionOptions {
  /** How often the step runs before a rejection fails it. Default: 3. */
  readonly rounds?: number
}

/** Options of every `step`. */
export interface WorkflowStepOptions {
  /** For people. Default: none. */
  readonly description?: string
  /** How often a failed step is tried again. Default: 0. */
  readonly retries?: number
  /** Delay before the first retry; it doubles each time. Default: 500. */
  readonly retryDelayMs?: number
  /** Longest delay. Default: 60,000. */
  readonly maxRetryDelayMs?: number
  /** Timeout of one attempt, including waits for people inside it. Default: none. */
  readonly timeoutMs?: number
  /** Default: `fail`. */
  readonly onError?: StepErrorPolicy
  /** A person must agree before the step runs. Default: no confirmation. */
  readonly confirm?: string | StepConfirmation
  /** A question to ask before the step runs. Default: none. */
  readonly question?: string | StepQuestion
  /** A person must accept the step's output, and may edit it or send it back. Default: no review. */
  readonly review?: string | StepReview
}

/** A function. An async generator emits under its own actor, and its return value is the output. */
export type StepFunction<In, Out> = (
  input: In,
  context: StepContext,
) => Out | Promise<Out> | AsyncGenerator<Emission, Out, void>

declare const flow: unique symbol

/** Carries a step's input and output types; nothing at run time. */
export interface TypedStep<In, Out> {
  readonly [flow]?: (input: In) => Out
}

/** A `step` in a workflow's structure. */
export interface StepNode extends WorkflowStepOptions {
  readonly type: 'step'
  readonly kind: 'function' | ComponentKind
  readonly name: string
  readonly run: StepFunction<unknown, unknown> | Component
  /** Maps the step's input to the component's. */
  readonly input?: (input: unknown, context: StepContext) => unknown
}

/** A `parallel` block in a workflow's structure. */
export interface ParallelNode {
  readonly type: 'parallel'
  readonly name: string
  readonly branches: readonly Node[]
  readonly concurrency: number
}

/** A `loop` in a workflow's structure. */
export interface LoopNode {
  readonly type: 'loop'
  readonly name: string
  readonly body: Node
  readonly maxIterations: number
  /** Checked before the first iteration. */
  readonly begins?: (input: unknown, context: WorkflowContext) => boolean | Promise<boolean>
  /** Checked after each iteration. */
  readonly ends: (output: unknown, context: LoopContext) => boolean | Promise<boolean>
}

/** The context of a loop's conditions. */
export interface LoopContext extends WorkflowContext {
  /** 1 for the first. */
  readonly iteration: number
}

/** A `condition` in a workflow's structure. */
export interface ConditionNode {
  readonly type: 'condition'
  readonly name: string
  readonly when: (input: unknown, context: WorkflowContext) => boolean | Promise<boolean>
  readonly do: Node
  readonly else?: Node
}

/** A `router` in a workflow's structure. */
export interface RouterNode {
  readonly type: 'router'
  readonly name: string
  readonly choices: readonly Node[]
  readonly choose: RouterFunction | RouterChoice
  readonly multiple: boolean
}

export type RouterFunction<In = unknown, Name extends string = string> = (
  input: In,
  context: WorkflowContext,
) => Name | readonly Name[] | Promise<Name | readonly Name[]>

/** A person chooses. */
export type RouterChoice = StepQuestionOptions

/** A sequence of `steps` in a workflow's structure. */
export interface SequenceNode {
  readonly type: 'sequence'
  readonly name: string
  readonly steps: readonly Node[]
}

export type Node = StepNode | ParallelNode | LoopNode | ConditionNode | RouterNode | SequenceNode

/** Anything that can be part of a workflow, with its input and output types. */
export type WorkflowStep<In = unknown, Out = unknown, Name extends string = string> = Node &
  TypedStep<In, Out> & { readonly name: Name }

/** A component acts as a step named after its id. Its output type is unknown to the compiler. */
// oxlint-disable-next-line typescript/no-explicit-any -- any step, whatever it takes
export type AnyWorkflowStep = WorkflowStep<any, any> | Component<any>

export type StepInput<Item> =
  // oxlint-disable-next-line typescript/no-explicit-any -- not contravariant in the output type
  Item extends Component<infer In> ? In : Item extends TypedStep<infer In, any> ? In : unknown

// oxlint-disable-next-line typescript/no-explicit-any -- a component's output type is unknown
export type StepOutput<Item> = Item extends Component<any> ? any : Item extends TypedStep<any, infer Out> ? Out : never

/** Input of the first and output of the last item. */
export type FirstStepInput<Items extends readonly unknown[]> = StepInput<Items[0]>
export type LastStepOutput<Items extends readonly unknown[]> = Items extends readonly [...unknown[], infer Last]
  ? StepOutput<Last>
  : StepOutput<Items[number]>

/** The same list if each step accepts the previous one's output; otherwise the expected type. */
export type ConnectedSteps<
  Items extends readonly unknown[],
  Given = FirstStepInput<Items>,
> = number extends Items['length']
  ? Items
  : Items extends readonly [infer Head, ...infer Tail]
    ? readonly [
        [Given] extends [StepInput<Head>] ? Head : WorkflowStep<Given>,
        ...ConnectedSteps<Tail, StepOutput<Head>>,
      ]
    : readonly []

/** The input type that several steps share. */
export type SharedStepInput<Item> = (Item extends unknown ? (input: StepInput<Item>) => void : never) extends (
  input: infer In,
) => void
  ? In
  : never

/** Outputs by name. A skipped branch is missing, so a branch that may be skipped should have an optional type. */
export type StepOutputs<Items extends readonly unknown[]> = {
  readonly [Item in Items[number] as StepName<Item>]: StepOutput<Item>
}

export type StepName<Item> = Item extends { readonly type: string; readonly name: infer Name extends string }
  ? Name
  : Item extends { readonly id: string }
    ? string
    : never
