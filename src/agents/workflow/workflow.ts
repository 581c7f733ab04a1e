/** Workflows: steps in a declared order, each recorded, so that a crash costs at most the steps in progress. */
import { aList, checkOptions, checkRequired, type OptionRules } from '../../core/model/check-options.ts'
import { componentRules } from '../../core/schema/component-options.ts'
import type { Component } from '../../core/ports/component.ts'
import type { ValueSchema } from '../../core/ports/schema.ts'
import { checkOnly } from '../../core/schema/json-schema.ts'
import { checkSize, isComponent, nodesOf } from './checks.ts'
import type { AnyWorkflowStep, ConnectedSteps, FirstStepInput, Node } from './definition.ts'
import { runSequence } from './run-sequence.ts'
import { Outbox } from './outbox.ts'
import { positionOf } from './position.ts'

/** Options of `workflow`. */
export interface WorkflowDefinition<Items extends readonly AnyWorkflowStep[]> extends Omit<
  Component<FirstStepInput<Items>>,
  'kind' | 'run' | 'input'
> {
  /** Schema of the input; the first step gets what it returns. Default: that of the first step. */
  readonly input?: ValueSchema<unknown, FirstStepInput<Items>>
  readonly steps: Items & ConnectedSteps<Items>
}

/** A component made by `workflow`. */
export interface Workflow<Input = unknown> extends Component<Input> {
  readonly kind: 'workflow'
  /** Its structure, for display. */
  readonly steps: readonly Node[]
}

const RULES: OptionRules<WorkflowDefinition<readonly AnyWorkflowStep[]>> = {
  ...componentRules,
  steps: aList,
}

/** Defines a workflow. Its output is its last step's. Default recovery: `resume`. */
export function workflow<const Items extends readonly AnyWorkflowStep[]>(
  definition: WorkflowDefinition<Items>,
): Workflow<FirstStepInput<Items>> {
  const { input, ...rest } = definition
  const what = `workflow ${definition.id}`
  checkOptions(what, definition, RULES)
  checkRequired(what, definition, ['id', 'steps'])
  const steps = nodesOf(what, 'steps', definition.steps)
  checkSize(what, steps)
  return {
    recovery: 'resume',
    ...rest,
    ...inputOf(input, steps[0]!),
    kind: 'workflow',
    steps,
    async *run(given, context) {
      const outbox = new Outbox()
      const position = positionOf(context, (event) => outbox.send(event))
      const flow = runSequence(position, steps, given).finally(() => outbox.close())
      flow.catch(() => {}) // reported below, unless the run ends first
      yield* outbox.events()
      return flow
    },
  }
}

/** By default, inputs must match the schema of the first step, which parses them itself. */
function inputOf<Input>(
  input: ValueSchema<unknown, Input> | undefined,
  first: Node,
): { readonly input?: ValueSchema<Input> } {
  const accepted = input ?? inputOfNode(first)
  return accepted === undefined ? {} : { input: accepted as ValueSchema<Input> }
}

/** Undefined if the input goes to several steps, or to a function, which may accept anything. */
function inputOfNode(node: Node): ValueSchema | undefined {
  if (node.type === 'sequence') return node.steps[0] && inputOfNode(node.steps[0])
  if (node.type !== 'step' || node.input !== undefined || !isComponent(node.run)) return undefined
  return node.run.input && checkOnly(node.run.input)
}
