/** Workflows: steps in a declared order, each recorded, so that a crash costs at most the steps that were being done. */
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
  /** What it is made of, for those who want to show it. */
  readonly steps: readonly Node[]
}

/** Defines a workflow. Its output is that of its last step. Recovered by `resume` where nothing else is said. */
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
      flow.catch(() => {}) // told below, unless the run is over before
      yield* outbox.events()
      return flow
    },
  }
}

/** A workflow that does not say what its input is takes what its first step takes. */
function infoOf(info: ComponentInfo | undefined, first: Node): { readonly info?: ComponentInfo } {
  const inputSchema = info?.inputSchema ?? inputSchemaOf(first)
  return inputSchema === undefined ? {} : { info: { ...info, inputSchema } }
}

/** Undefined where the input goes to several, or to a function, which may make anything of it. */
function inputSchemaOf(node: Node): ComponentInfo['inputSchema'] {
  if (node.type === 'sequence') return node.steps[0] && inputSchemaOf(node.steps[0])
  if (node.type !== 'step' || node.input !== undefined || !isComponent(node.run)) return undefined
  return node.run.info?.inputSchema
}
