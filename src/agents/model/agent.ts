/** Model agent: instructions and tools on the AI SDK. Every model request and tool call is recorded separately. */
import type { FlexibleSchema, LanguageModel } from 'ai'
import type { Component, Emission, RunContext } from '../../core/ports/component.ts'
import { aCount, anAmount, anObject, anything, aString, type OptionRules } from '../../core/model/check-options.ts'
import { aModel, historyRule, toolsRule } from './rules.ts'
import { checkDefinition, type CommonDefinition, commonOf, commonRules } from '../shared/component.ts'
import { callerOptionsOf, callerTools, withCaller } from './caller-options.ts'
import { type AgentHistory, conversation } from './history.ts'
import { modelInput, type ModelInput } from './input.ts'
import { loop } from './loop.ts'
import { listedOutput } from './output.ts'
import { describeModel, type ModelSettings } from './request.ts'
import { RETRIES, RETRY_DELAY_MS } from './retry.ts'
import { loadSdk } from './sdk.ts'
import { type AgentTools, openTools } from './tool-sources.ts'
import { modelInUse } from './test-model.ts'
import { toolboxOf } from './tools.ts'

export interface ModelAgentDefinition extends Omit<CommonDefinition, 'output'> {
  /** Any AI SDK language model. */
  readonly model: LanguageModel
  /** System message. Default: none. */
  readonly instructions?: string
  /** AI SDK tools, a function of the context that returns them, `mcp(…)`, or a list of these. Default: none. */
  readonly tools?: AgentTools
  /** Requires the answer to be JSON of this schema. The run's output is the parsed value. Default: text. */
  readonly output?: FlexibleSchema
  /** Maximum model requests, not counting retries; then the run fails. Default: 20. */
  readonly maxSteps?: number
  /** Tool calls of one turn that run concurrently. Default: 8. */
  readonly concurrency?: number
  /** How often a failed or interrupted request is retried; 0: never. Default: 2. */
  readonly modelRetries?: number
  /** Delay before the first retry; doubles up to 30 seconds. Default: 500. */
  readonly retryDelayMs?: number
  /** Default: the model's own. */
  readonly settings?: ModelSettings
  /** Conversation history for the model. Default: the session's earlier runs of this agent. */
  readonly history?: AgentHistory
}

export const MAX_STEPS = 20
export const CONCURRENCY = 8

const RULES: OptionRules<ModelAgentDefinition> = {
  ...commonRules,
  model: aModel,
  instructions: aString,
  tools: toolsRule,
  output: anything,
  maxSteps: aCount,
  concurrency: aCount,
  modelRetries: anAmount,
  retryDelayMs: anAmount,
  settings: anObject,
  history: historyRule,
}

export function modelAgent(definition: ModelAgentDefinition): Component<ModelInput> {
  checkDefinition('agent', definition, RULES, ['model'])
  const { output, ...rest } = definition
  return {
    ...commonOf({ input: modelInput, ...rest }),
    ...listedOutput(output),
    kind: 'agent',
    info: { model: describeModel(definition.model) },
    run: (input, context) => run(definition, input, context),
  }
}

async function* run(
  definition: ModelAgentDefinition,
  input: ModelInput,
  context: RunContext,
): AsyncGenerator<Emission, unknown, void> {
  const sdk = await loadSdk()
  const caller = callerOptionsOf(input)
  const messages = await conversation(context, input, definition.history)
  const { tools, close } = await openTools(definition.tools, context)
  try {
    return yield* loop(context, {
      sdk,
      ...withCaller(sdk, caller, { ...definition, model: modelInUse(definition.model) }),
      messages,
      toolbox: await toolboxOf(sdk, { ...callerTools(sdk, caller), ...tools }),
      maxSteps: definition.maxSteps ?? MAX_STEPS,
      concurrency: definition.concurrency ?? CONCURRENCY,
      retry: {
        retries: definition.modelRetries ?? RETRIES,
        delayMs: definition.retryDelayMs ?? RETRY_DELAY_MS,
      },
    })
  } finally {
    await close()
  }
}
