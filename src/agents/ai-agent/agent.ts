/** An agent object of the AI SDK (`ToolLoopAgent`, or anything with its interface) as a component. */
import type { ModelMessage, ToolContent } from 'ai'
import { type Component, emit, type Emission, type RunContext } from '../../core/ports/component.ts'
import { checkInput, messagesOf, type ModelInput, modelInputSchema } from '../model/input.ts'
import { outputFor } from '../model/tools.ts'
import { askDecision } from '../shared/approval.ts'
import { type CommonDefinition, commonOf } from '../shared/component.ts'
import { leg } from '../shared/leg.ts'
import { type AnyAgent, type Open, streamAgent } from './stream.ts'

export interface AiAgentDefinition extends CommonDefinition {
  /** A `ToolLoopAgent`, or anything else that is an `Agent` of the AI SDK. */
  readonly agent: AnyAgent
  /** The agent's call options, where it has some. */
  readonly options?: (context: RunContext) => unknown
}

/** Answers of people in one run. */
const LEGS_MAX = 100

/**
 * Runs the agent as it is: its loop and its tools are its own, so nothing inside of one leg is known to the log as done. A run
 * whose process died therefore fails, unless the definition says `resume`, which does the unfinished leg again.
 */
export function aiAgent(definition: AiAgentDefinition): Component<ModelInput> {
  return {
    ...commonOf({ recovery: 'fail', inputSchema: modelInputSchema, ...definition }),
    kind: 'agent',
    parse: checkInput,
    run: (input, context) => run(definition, input, context),
  }
}

async function* run(
  { agent, options }: AiAgentDefinition,
  input: ModelInput,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  const messages: ModelMessage[] = messagesOf(input)
  for (let turn = 1; turn <= LEGS_MAX; turn++) {
    const callOptions = options?.(context)
    const end = await leg(context, 'agent', () =>
      streamAgent(agent, {
        id: `${context.run}/${turn}`,
        messages: [...messages],
        signal: context.signal,
        ...(callOptions !== undefined && { options: callOptions }),
      }),
    )
    if (end.open.length === 0) return yield emit('run.completed', { output: end.output })
    const content = await Promise.all(end.open.map((open) => answer(context, open)))
    messages.push(...end.messages, { role: 'tool', content })
  }
  throw new Error(`the agent asked for approvals more than ${LEGS_MAX} times`)
}

/** What the agent waits for: a decision, or the result of a tool that is the caller's to execute. */
async function answer(context: RunContext, open: Open): Promise<ToolContent[number]> {
  const { call, tool, input } = open
  if (open.approval === undefined) {
    const value = await context.ask({
      kind: 'tool',
      prompt: `What is the result of ${tool}?`,
      details: { tool, input: input ?? null, call },
    })
    return { type: 'tool-result', toolCallId: call, toolName: tool, output: outputFor(value) }
  }
  const decision = await askDecision(context, { tool, input, call })
  return { type: 'tool-approval-response', approvalId: open.approval, ...decision }
}
