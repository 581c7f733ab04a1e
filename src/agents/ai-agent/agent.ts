/** Component for an AI SDK agent object (`ToolLoopAgent`, or anything with its interface). */
import type { ModelMessage, ToolContent } from 'ai'
import { type Component, createEvent, type Emission, type RunContext } from '../../core/ports/component.ts'
import { messagesOf, modelInput, type ModelInput } from '../model/input.ts'
import { outputFor } from '../model/tools/tools.ts'
import { askDecision } from '../shared/approval.ts'
import { aFunction, anObject, type OptionRules } from '../../core/model/check-options.ts'
import { checkDefinition, type CommonDefinition, commonOf, commonRules } from '../shared/component.ts'
import { leg } from '../shared/leg.ts'
import { type AiSdkAgent, type Open, streamAgent } from './stream.ts'

/** Options of `aiAgent`. */
export interface AiAgentDefinition extends CommonDefinition {
  /** A `ToolLoopAgent`, or any other `Agent` of the AI SDK. */
  readonly agent: AiSdkAgent
  /** The agent's call options. Default: none. */
  readonly options?: (context: RunContext) => unknown
}

/** Maximum answered questions in one run. */
const LEGS_MAX = 100

const RULES: OptionRules<AiAgentDefinition> = {
  ...commonRules,
  agent: anObject,
  options: aFunction,
}

/**
 * Runs the agent unchanged. Its loop and tools are its own, so the log does not know what happened between two questions. After a
 * crash the run fails, unless the definition says `resume`, which repeats the work since the last question.
 */
export function aiAgent(definition: AiAgentDefinition): Component<ModelInput> {
  checkDefinition('aiAgent', definition, RULES, ['agent'])
  return {
    ...commonOf({ recovery: 'fail', input: modelInput, ...definition }),
    kind: 'agent',
    run: (input, context) => run(definition, input, context),
  }
}

async function* run(
  { agent, options }: AiAgentDefinition,
  input: ModelInput,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  const messages: ModelMessage[] = messagesOf(input)
  for (let legNumber = 1; legNumber <= LEGS_MAX; legNumber++) {
    const callOptions = options?.(context)
    const end = await leg(context, 'agent', () =>
      streamAgent(agent, {
        id: `${context.runId}/${legNumber}`,
        messages: [...messages],
        signal: context.signal,
        ...(callOptions !== undefined && { options: callOptions }),
      }),
    )
    if (end.open.length === 0) return yield createEvent('run.completed', { output: end.output })
    const content = await Promise.all(end.open.map((open) => answer(context, open)))
    messages.push(...end.messages, { role: 'tool', content })
  }
  throw new Error(`the agent asked for approval more than ${LEGS_MAX} times in one run`)
}

/** Asks for what the agent needs: an approval, or the result of a tool that the caller executes. */
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
