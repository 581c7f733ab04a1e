/** What a workflow is made of: steps and blocks, as plain data that carry the types of what goes in and what comes out. */
import type { Component, ComponentKind, Emission, RunContext } from '../../core/ports/component.ts'

/** What a function of a workflow is told besides its input. */
export interface FlowFacts extends Pick<RunContext, 'run' | 'session' | 'owner' | 'metadata' | 'signal'> {
  /** What the steps before gave, by name; of those on the same level and around it. */
  readonly outputs: Readonly<Record<string, unknown>>
}

export interface StepContext extends RunContext, FlowFacts {
  /** What was said about the output that this step gave before. */
  readonly feedback?: string
  /** The answer to the step's `question`. */
  readonly answer?: unknown
}

export interface Retry {
  /** Tries, the first included. */
  readonly attempts: number
  /** Wait before the second try; twice as long before each one after it. */
  readonly backoffMs?: number
  readonly maxBackoffMs?: number
}

/** What a failure does, once no try is left: end the workflow, leave the step out, or ask somebody. */
export type OnError = 'fail' | 'skip' | 'pause'

interface QuestionOptions {
  readonly prompt: string
  /** How long an answer is waited for; the run fails after it. */
  readonly timeoutMs?: number
}

export interface Confirmation extends QuestionOptions {
  /** What a refusal does. Default: `skip`. */
  readonly onReject?: 'skip' | 'fail'
}

export interface StepQuestion extends QuestionOptions {
  /** JSON schema of the answer. */
  readonly schema?: unknown
}

export interface Review extends QuestionOptions {
  /** How often the step runs before a rejection fails it. Default: 3. */
  readonly rounds?: number
}

export interface StepOptions {
  readonly description?: string
  readonly retry?: Retry
  /** Longest time for one try, waits for people inside it included. */
  readonly timeoutMs?: number
  readonly onError?: OnError
  /** Somebody has to agree before the step is done. */
  readonly confirm?: string | Confirmation
  /** Something to ask before the step is done. */
  readonly question?: string | StepQuestion
  /** Somebody has to accept what the step gave, may edit it, or send it back. */
  readonly review?: string | Review
}

/** A function; one that is an async generator emits under its own actor, and what it returns is its output. */
export type StepFunction<In, Out> = (
  input: In,
  context: StepContext,
) => Out | Promise<Out> | AsyncGenerator<Emission, Out, void>

declare const flow: unique symbol

/** Says what a step takes and gives; there is nothing of it at run time. */
interface TypedStep<In, Out> {
  readonly [flow]?: (input: In) => Out
}

export interface StepNode extends StepOptions {
  readonly type: 'step'
  readonly kind: 'function' | ComponentKind
  readonly name: string
  readonly run: StepFunction<unknown, unknown> | Component
  /** What a component is given, where it is not simply the step's input. */
  readonly input?: (input: unknown, context: StepContext) => unknown
}

export interface ParallelNode {
  readonly type: 'parallel'
  readonly name: string
  readonly branches: readonly Node[]
  readonly concurrency: number
}

export interface LoopNode {
  readonly type: 'loop'
  readonly name: string
  readonly body: Node
  readonly maxIterations: number
  /** Asked before the first iteration. */
  readonly begins?: (input: unknown, facts: FlowFacts) => boolean | Promise<boolean>
  /** Asked after each one. */
  readonly ends: (output: unknown, facts: LoopFacts) => boolean | Promise<boolean>
}

export interface LoopFacts extends FlowFacts {
  /** 1 for the first. */
  readonly iteration: number
}

export interface ConditionNode {
  readonly type: 'condition'
  readonly name: string
  readonly when: (input: unknown, facts: FlowFacts) => boolean | Promise<boolean>
  readonly do: Node
  readonly else?: Node
}

export interface RouterNode {
  readonly type: 'router'
  readonly name: string
  readonly choices: readonly Node[]
  readonly choose: Choose | Choice
  readonly multiple: boolean
}

export type Choose<In = unknown, Name extends string = string> = (
  input: In,
  facts: FlowFacts,
) => Name | readonly Name[] | Promise<Name | readonly Name[]>

/** A person chooses. */
export type Choice = QuestionOptions

export interface SequenceNode {
  readonly type: 'sequence'
  readonly name: string
  readonly steps: readonly Node[]
}

export type Node = StepNode | ParallelNode | LoopNode | ConditionNode | RouterNode | SequenceNode

/** Anything that can stand in a workflow, with what it takes and gives. */
export type WorkflowStep<In = unknown, Out = unknown, Name extends string = string> = Node &
  TypedStep<In, Out> & { readonly name: Name }

/** A component stands for a step with its id as name. What it gives is not known to the compiler. */
// oxlint-disable-next-line typescript/no-explicit-any -- any step, whatever it takes
export type AnyStep = WorkflowStep<any, any> | Component<any>

// oxlint-disable-next-line typescript/no-explicit-any -- not contravariant in what is not asked for
export type InputOf<Item> = Item extends Component<infer In> ? In : Item extends TypedStep<infer In, any> ? In : unknown

// oxlint-disable-next-line typescript/no-explicit-any -- what a component gives is not known
export type OutputOf<Item> = Item extends Component<any> ? any : Item extends TypedStep<any, infer Out> ? Out : never

/** The input of the first and the output of the last of a list. */
export type FirstInput<Items extends readonly unknown[]> = InputOf<Items[0]>
export type LastOutput<Items extends readonly unknown[]> = Items extends readonly [...unknown[], infer Last]
  ? OutputOf<Last>
  : OutputOf<Items[number]>

/** The same list where each step takes what the one before gives; where one does not, what it should be. */
export type ConnectedSteps<Items extends readonly unknown[], Given = FirstInput<Items>> = number extends Items['length']
  ? Items
  : Items extends readonly [infer Head, ...infer Tail]
    ? readonly [[Given] extends [InputOf<Head>] ? Head : WorkflowStep<Given>, ...ConnectedSteps<Tail, OutputOf<Head>>]
    : readonly []

/** What all of several steps take. */
export type SharedInput<Item> = (Item extends unknown ? (input: InputOf<Item>) => void : never) extends (
  input: infer In,
) => void
  ? In
  : never

/** Outputs by name. That of a branch which was skipped is missing: a branch that may be, should say so in its type. */
export type OutputsByName<Items extends readonly unknown[]> = {
  readonly [Item in Items[number] as NameOf<Item>]: OutputOf<Item>
}

export type NameOf<Item> = Item extends { readonly type: string; readonly name: infer Name extends string }
  ? Name
  : Item extends { readonly id: string }
    ? string
    : never
