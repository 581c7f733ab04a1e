/** Executes a workflow graph. Every step and decision is recorded, so a recovered run takes the same path. */
import { WorkError } from '../../core/ports/component.ts'
import { failureOf } from '../../core/recovery/recorded-failure.ts'
import type { ConditionNode, LoopNode, Node, ParallelNode, RouterNode, SequenceNode } from './definition.ts'
import { type QuestionContext, choose, isSelection } from './human-input.ts'
import { factsOf, idIn, positionInside, type WorkflowPosition, recordBlock } from './position.ts'
import { ABANDONED, type StepOutcome, runStep } from './run-step.ts'

/** Runs steps in sequence; returns the output of the last one that was not skipped. */
export async function runSequence(
  position: WorkflowPosition,
  nodes: readonly Node[],
  input: unknown,
): Promise<unknown> {
  let current = input
  let { outputs } = position
  for (const [index, node] of nodes.entries()) {
    const outcome = await runNode({ ...position, outputs }, node, current, index)
    if ('skipped' in outcome) continue
    current = outcome.output
    outputs = { ...outputs, [node.name]: current }
  }
  return current
}

async function runNode(position: WorkflowPosition, node: Node, input: unknown, index: number): Promise<StepOutcome> {
  position.signal.throwIfAborted()
  switch (node.type) {
    case 'step':
      return runStep(position, node, input, index)
    case 'sequence':
      return { output: await runSteps(position, node, input, index) }
    case 'parallel':
      return { output: await runParallel(position, node, input, index) }
    case 'loop':
      return { output: await runLoop(position, node, input, index) }
    case 'condition':
      return { output: await runCondition(position, node, input, index) }
    case 'router':
      return { output: await runRouter(position, node, input, index) }
  }
}

function runSteps(position: WorkflowPosition, node: SequenceNode, input: unknown, index: number): Promise<unknown> {
  const inner = positionInside(position, node.name)
  return recordBlock(position, {
    name: node.name,
    about: about(position, 'sequence', { index, count: node.steps.length }),
    walk: () => runSequence(inner, node.steps, input),
  })
}

function runParallel(position: WorkflowPosition, node: ParallelNode, input: unknown, index: number): Promise<unknown> {
  const { name, branches, concurrency } = node
  return recordBlock(position, {
    name,
    about: about(position, 'parallel', { index, count: branches.length, concurrency }),
    walk: () => runBranches(positionInside(position, name), node, input),
  })
}

/** The first failure fails the block and aborts the other branches. */
async function runBranches(
  position: WorkflowPosition,
  node: ParallelNode,
  input: unknown,
): Promise<Record<string, unknown>> {
  const { branches, concurrency } = node
  const controller = new AbortController()
  const inner = { ...position, signal: AbortSignal.any([position.signal, controller.signal]) }
  const outcomes: (StepOutcome | undefined)[] = branches.map(() => undefined)
  const failures: unknown[] = []
  const waiting = branches.entries()
  const work = async (): Promise<void> => {
    for (const [index, branch] of waiting) {
      try {
        outcomes[index] = await runNode(inner, branch, input, index)
      } catch (thrown) {
        failures.push(thrown)
        controller.abort(abandonedFailure(branch.name))
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, branches.length) }, work))
  if (failures.length > 0) throw failures.find((thrown) => failureOf(thrown).code !== ABANDONED) ?? failures[0]
  return Object.fromEntries(
    outcomes.flatMap((outcome, index) =>
      outcome === undefined || 'skipped' in outcome ? [] : [[branches[index]!.name, outcome.output]],
    ),
  )
}

function abandonedFailure(branch: string): WorkError {
  return new WorkError({ code: ABANDONED, message: `aborted because branch ${branch} of the same block failed` })
}

async function runLoop(position: WorkflowPosition, node: LoopNode, input: unknown, index: number): Promise<unknown> {
  const { name, maxIterations, begins } = node
  const inner = positionInside(position, name)
  const begin = begins === undefined || (await decide(position, inner, name, () => begins(input, factsOf(position))))
  return recordBlock(position, {
    name,
    about: about(position, 'loop', { index, maxIterations }),
    walk: () => (begin ? iterate(inner, node, input) : Promise.resolve(input)),
  })
}

async function iterate(position: WorkflowPosition, node: LoopNode, input: unknown): Promise<unknown> {
  const { body, maxIterations } = node
  let current = input
  for (let iteration = 1; iteration <= maxIterations; iteration++) {
    const name = `iteration-${iteration}`
    const inner = positionInside(position, name)
    const iterationInput = current
    const { output, done } = await recordBlock(position, {
      name,
      about: about(position, 'sequence', { iteration, maxIterations }),
      walk: async () => outputOf(await runNode(inner, body, iterationInput, 0), iterationInput),
      conclude: async (result) => ({
        output: result,
        done: await node.ends(result, { ...factsOf(position), iteration }),
      }),
    })
    current = output
    if (done) break
  }
  return current
}

async function runCondition(
  position: WorkflowPosition,
  node: ConditionNode,
  input: unknown,
  index: number,
): Promise<unknown> {
  const { name } = node
  const inner = positionInside(position, name)
  const result = await decide(position, inner, name, () => node.when(input, factsOf(position)))
  const branchNode = result ? node.do : node.else
  const branch = branchNode === undefined ? null : result ? 'do' : 'else'
  const body = positionInside(inner, result ? 'do' : 'else', inner.parent)
  return recordBlock(position, {
    name,
    about: about(position, 'condition', { index, result, branch }),
    walk: async () => (branchNode === undefined ? input : outputOf(await runNode(body, branchNode, input, 0), input)),
  })
}

async function runRouter(
  position: WorkflowPosition,
  node: RouterNode,
  input: unknown,
  index: number,
): Promise<unknown> {
  const { name, choices } = node
  const inner = positionInside(position, name)
  const selected = await select(position, inner, node, input, index)
  const chosenNodes = selected.map((chosen) => choices.find((choice) => choice.name === chosen)!)
  const body = positionInside(inner, 'chosen', inner.parent)
  return recordBlock(position, {
    name,
    about: about(position, 'router', { index, selected, choices: choices.map((choice) => choice.name) }),
    walk: () => runSequence(body, chosenNodes, input),
  })
}

async function select(
  position: WorkflowPosition,
  inner: WorkflowPosition,
  { name, choices: nodes, choose: how, multiple }: RouterNode,
  input: unknown,
  index: number,
): Promise<readonly string[]> {
  const choices = nodes.map((choice) => choice.name)
  if (typeof how === 'function')
    return decide(position, inner, name, async () => {
      const answer = await how(input, factsOf(position))
      const chosen: readonly unknown[] = Array.isArray(answer) ? answer : [answer]
      if (isSelection(chosen, choices, multiple)) return chosen
      const expected = `${multiple ? 'some' : 'one'} of ${choices.join(', ')}`
      throw new TypeError(`router ${name} chose ${JSON.stringify(answer)} and not ${expected}`)
    })
  const facts = { step: idIn(position, name), name, kind: 'router', index }
  const asker: QuestionContext = { context: inner.context, signal: position.signal, facts }
  return choose(asker, how, { choices, multiple, input })
}

/** Decides a branch once. Recorded before its block, whose event includes the decision. */
function decide<Decision>(
  position: WorkflowPosition,
  inner: WorkflowPosition,
  block: string,
  work: () => Promise<Decision> | Decision,
): Promise<Decision> {
  return inner.context.step('decision', work, about(position, 'function', { decides: idIn(position, block) }))
}

function outputOf(outcome: StepOutcome, input: unknown): unknown {
  return 'skipped' in outcome ? input : outcome.output
}

function about<Kind extends string>(
  { parent }: WorkflowPosition,
  kind: Kind,
  details: object,
): { readonly kind: Kind; readonly details: object; readonly parent?: string } {
  return { kind, details, ...(parent !== undefined && { parent }) }
}
