/** Builders for the parts of a workflow: `step`, `parallel`, `loop`, `condition`, `router`, `steps`. */
import type { Component } from '../../core/ports/component.ts'
import { CONCURRENCY, CONCURRENCY_MAX, ITERATIONS, ITERATIONS_MAX } from './bounds.ts'
import {
  checkBound,
  checkFunction,
  checkName,
  checkNames,
  checkBlockOptions,
  fail,
  isComponent,
  nodeOf,
  nodesOf,
} from './checks.ts'
import type {
  AnyWorkflowStep,
  RouterChoice,
  RouterFunction,
  ConnectedSteps,
  FirstStepInput,
  WorkflowContext,
  StepInput,
  LastStepOutput,
  LoopContext,
  LoopNode,
  StepName,
  StepOutput,
  StepOutputs,
  SharedStepInput,
  StepContext,
  StepFunction,
  StepNode,
  WorkflowStepOptions,
  WorkflowStep,
} from './definition.ts'

/** Options of a `step` that runs a function. */
export interface FunctionStep<In, Out, Name extends string> extends WorkflowStepOptions {
  readonly name: Name
  readonly run: StepFunction<In, Out>
}

/** Options of a `step` that runs a component. */
export interface ComponentStep<In, ComponentInput, Name extends string> extends WorkflowStepOptions {
  readonly name: Name
  readonly run: Component<ComponentInput>
  /**
   * Maps the step's input to the component's. Default: the step's input. If there is also an answer or feedback, it is appended
   * to text; anything else becomes `{ input, answer?, feedback? }`.
   */
  readonly input?: (input: In, context: StepContext) => ComponentInput
}

const STEP_OPTIONS = [
  'name',
  'run',
  'input',
  'description',
  'retries',
  'retryDelayMs',
  'maxRetryDelayMs',
  'timeoutMs',
  'onError',
  'confirm',
  'question',
  'review',
] satisfies (keyof ComponentStep<unknown, unknown, string>)[]

/** One piece of work, done by a function, an agent, a team or another workflow. A skipped step passes its input on. */
export function step<In, Out, const Name extends string>(
  definition: FunctionStep<In, Out, Name>,
): WorkflowStep<In, Out, Name>
export function step<ComponentInput, const Name extends string, In = ComponentInput>(
  definition: ComponentStep<In, ComponentInput, Name>,
  // oxlint-disable-next-line typescript/no-explicit-any -- a component's output type is unknown
): WorkflowStep<In, any, Name>
export function step(definition: Omit<StepNode, 'type' | 'kind'>): WorkflowStep<never> {
  const { name, run } = definition
  checkName('a step', name)
  const what = `step ${JSON.stringify(name)}`
  if (typeof run !== 'function' && !isComponent(run)) fail(`${what} needs a function or a component as its \`run\``)
  checkNames(what, definition, STEP_OPTIONS)
  checkBlockOptions(what, definition)
  const kind = typeof run === 'function' ? 'function' : run.kind
  return { ...definition, type: 'step', kind }
}

/** All branches get the same input; the output is an object keyed by their names. */
export function parallel<const Name extends string, const Branches extends readonly AnyWorkflowStep[]>(definition: {
  readonly name: Name
  readonly branches: Branches
  /** Branches that run concurrently. Default: 8. */
  readonly maxConcurrentBranches?: number
}): WorkflowStep<SharedStepInput<Branches[number]>, StepOutputs<Branches>, Name> {
  const { name, maxConcurrentBranches: concurrency = CONCURRENCY } = definition
  checkName('a parallel block', name)
  const what = `parallel ${JSON.stringify(name)}`
  checkNames(what, definition, ['name', 'branches', 'maxConcurrentBranches'])
  checkBound(`maxConcurrentBranches of ${what}`, concurrency, CONCURRENCY_MAX)
  return { type: 'parallel', name, branches: nodesOf(what, 'branches', definition.branches), concurrency }
}

/** Options of `loop`. */
export interface LoopDefinition<Name, Body> {
  readonly name: Name
  /** Gets its own previous output. */
  readonly body: Body
  /** Default: 10. */
  readonly maxIterations?: number
}

export type ConditionFunction<In, Facts> = (input: In, facts: Facts) => boolean | Promise<boolean>

/** Repeats its body. `until` checks the output after each iteration; `while` also checks the input before the first. */
export function loop<const Name extends string, Body extends AnyWorkflowStep>(
  definition: LoopDefinition<Name, Body> &
    (
      | { readonly until: ConditionFunction<StepOutput<Body>, LoopContext> }
      | { readonly while: ConditionFunction<StepInput<Body> | StepOutput<Body>, WorkflowContext> }
    ),
): WorkflowStep<StepInput<Body>, StepOutput<Body>, Name> {
  const { name, maxIterations = ITERATIONS } = definition
  checkName('a loop', name)
  const what = `loop ${JSON.stringify(name)}`
  checkNames(what, definition, ['name', 'body', 'maxIterations', 'until', 'while'])
  checkBound(`maxIterations of ${what}`, maxIterations, ITERATIONS_MAX)
  const body = nodeOf(what, 'body', definition.body)
  if ('until' in definition) {
    checkFunction(`until of ${what}`, definition.until)
    return { type: 'loop', name, body, maxIterations, ends: definition.until as LoopNode['ends'] }
  }
  const goesOn: ConditionFunction<unknown, WorkflowContext> = definition.while as ConditionFunction<
    unknown,
    WorkflowContext
  >
  checkFunction(`until or while of ${what}`, goesOn)
  const ends = async (output: unknown, facts: WorkflowContext): Promise<boolean> => !(await goesOn(output, facts))
  return { type: 'loop', name, body, maxIterations, begins: goesOn, ends }
}

/** Runs `do` or `else` depending on `when`. Without `else`, the input passes through. */
export function condition<
  const Name extends string,
  Do extends AnyWorkflowStep,
  Else extends AnyWorkflowStep = WorkflowStep<unknown, StepInput<Do>>,
>(definition: {
  readonly name: Name
  readonly when: ConditionFunction<StepInput<Do>, WorkflowContext>
  readonly do: Do
  readonly else?: Else
}): WorkflowStep<StepInput<Do> & StepInput<Else>, StepOutput<Do> | StepOutput<Else>, Name> {
  const { name, when } = definition
  checkName('a condition', name)
  const what = `condition ${JSON.stringify(name)}`
  checkNames(what, definition, ['name', 'when', 'do', 'else'])
  checkFunction(`when of ${what}`, when)
  return {
    type: 'condition',
    name,
    when: when as ConditionFunction<unknown, WorkflowContext>,
    do: nodeOf(what, 'do', definition.do),
    ...(definition.else !== undefined && { else: nodeOf(what, 'else', definition.else) }),
  }
}

/** Runs one of several branches, or with `multiple` several in sequence, chosen by a function or a person. */
export function router<const Name extends string, const Choices extends readonly AnyWorkflowStep[]>(definition: {
  readonly name: Name
  readonly choices: Choices
  readonly choose: RouterFunction<SharedStepInput<Choices[number]>, StepName<Choices[number]>> | 'ask' | RouterChoice
  readonly multiple?: boolean
}): WorkflowStep<SharedStepInput<Choices[number]>, StepOutput<Choices[number]>, Name> {
  const { name, choose, multiple = false } = definition
  checkName('a router', name)
  const what = `router ${JSON.stringify(name)}`
  checkNames(what, definition, ['name', 'choices', 'choose', 'multiple'])
  const choices = nodesOf(what, 'choices', definition.choices)
  if (typeof choose === 'object' && choose !== null) return { type: 'router', name, choices, choose, multiple }
  if (choose === 'ask') return { type: 'router', name, choices, choose: { prompt: `${name}: which way?` }, multiple }
  checkFunction(`choose of ${what}`, choose)
  return { type: 'router', name, choices, choose: choose as RouterFunction, multiple }
}

/** A sequence; each step gets the previous one's output. */
export function steps<const Name extends string, const Items extends readonly AnyWorkflowStep[]>(
  name: Name,
  items: Items & ConnectedSteps<Items>,
): WorkflowStep<FirstStepInput<Items>, LastStepOutput<Items>, Name> {
  checkName('a sequence', name)
  return { type: 'sequence', name, steps: nodesOf(`steps ${JSON.stringify(name)}`, 'steps', items) }
}
