/** Workflows: steps in a declared order, each recorded, so that a crash costs at most the steps in progress. */
import type { Component, ComponentInfo } from '../../core/ports/component.ts'
import { checkSize, isComponent, nodesOf } from './checks.ts'
import type { AnyStep, ConnectedSteps, FirstInput, Node } from './definition.ts'
import { runSequence } from './run-sequence.ts'
import { Outbox } from './outbox.ts'
import { positionOf } from './position.ts'

export interface WorkflowDefinition<Items extends readonly AnyStep[]> extends Omit<
  Component<FirstInput<Items>>,
  'kind' | 'run'
> {
  readonly steps: Items & ConnectedSteps<Items>
}

export interface Workflow<Input = unknown> extends Component<Input> {
  readonly kind: 'workflow'
  /** Its structure, for display. */
  readonly steps: readonly Node[]
}

/** Defines a workflow. Its output is its last step's. Default recovery: `resume`. */
export function workflow<const Items extends readonly AnyStep[]>(
  definition: WorkflowDefinition<Items>,
): Workflow<FirstInput<Items>> {
  const what = `workflow ${definition.id}`
  const steps = nodesOf(what, 'steps', definition.steps)
  checkSize(what, steps)
  return {
    recovery: 'resume',
    ...definition,
    ...infoOf(definition.info, steps[0]!),
    kind: 'workflow',
    steps,
    async *run(input, context) {
      const outbox = new Outbox()
      const position = positionOf(context, (event) => outbox.send(event))
      const flow = runSequence(position, steps, input).finally(() => outbox.close())
      flow.catch(() => {}) // reported below, unless the run ends first
      yield* outbox.events()
      return flow
    },
  }
}

/** Default input schema: that of the first step. */
function infoOf(info: ComponentInfo | undefined, first: Node): { readonly info?: ComponentInfo } {
  const inputSchema = info?.inputSchema ?? inputSchemaOf(first)
  return inputSchema === undefined ? {} : { info: { ...info, inputSchema } }
}

/** Undefined if the input goes to several steps, or to a function, which may accept anything. */
function inputSchemaOf(node: Node): ComponentInfo['inputSchema'] {
  if (node.type === 'sequence') return node.steps[0] && inputSchemaOf(node.steps[0])
  if (node.type !== 'step' || node.input !== undefined || !isComponent(node.run)) return undefined
  return node.run.info?.inputSchema
}
