/** Model agent: instructions and tools on the AI SDK. Its code is loaded with its first run. */
import type { Component } from '../../core/ports/component.ts'
import { aCount, anAmount, anObject, anything, aString, type OptionRules } from '../../core/model/check-options.ts'
import { aModel, historyRule, toolsRule } from './rules.ts'
import { checkDefinition, type CommonDefinition, commonOf, commonRules } from '../shared/component.ts'
import type { AgentHistory } from './history.ts'
import { modelInput, type ModelInput } from './input.ts'
import { describeModel } from './model-name.ts'
import { listedOutput } from './listed-output.ts'
import type { FlexibleSchema, LanguageModel } from './sdk-types.ts'
import type { ModelSettings } from './settings.ts'
import type { AgentTools } from './tools/tool-sources.ts'

/** Options of `agent({ model })`: a model with instructions and tools. */
export interface ModelAgentDefinition extends Omit<CommonDefinition, 'output'> {
  /** Any AI SDK language model. An agent has either this or `run`. */
  readonly model: LanguageModel
  /** System message. Default: none. */
  readonly instructions?: string
  /** AI SDK tools, a function of the context that returns them, `mcp(…)`, or a list of these. Default: none. */
  readonly tools?: AgentTools
  /** Requires the response to be JSON of this schema. The run's output is the parsed value. Default: text. */
  readonly output?: FlexibleSchema
  /** Maximum model requests, not counting retries; then the run fails. Default: 20. */
  readonly maxSteps?: number
  /** Maximum tool calls of one model response that run concurrently. Default: 8. */
  readonly maxConcurrentToolCalls?: number
  /** How often a failed or interrupted request is retried; 0: never. Default: 2. */
  readonly retries?: number
  /** Delay before the first retry; doubles up to 30 seconds. Default: 500. */
  readonly retryDelayMs?: number
  /** Default: the model's own. */
  readonly settings?: ModelSettings
  /** Conversation history for the model. Default: the session's earlier runs of this agent. */
  readonly history?: AgentHistory
  readonly run?: never
}

export const modelAgentRules: OptionRules<Omit<ModelAgentDefinition, 'run'>> = {
  ...commonRules,
  model: aModel,
  instructions: aString,
  tools: toolsRule,
  output: anything,
  maxSteps: aCount,
  maxConcurrentToolCalls: aCount,
  retries: anAmount,
  retryDelayMs: anAmount,
  settings: anObject,
  history: historyRule,
}

export function modelAgent(definition: ModelAgentDefinition): Component<ModelInput> {
  checkDefinition('agent', definition, modelAgentRules, ['model'])
  const { output, ...rest } = definition
  return {
    ...commonOf({ input: modelInput, ...rest }),
    ...listedOutput(output),
    kind: 'agent',
    info: { model: describeModel(definition.model) },
    async *run(input, context) {
      const { runModelAgent } = await import('./run-model.ts')
      return yield* runModelAgent(definition, input, context)
    },
  }
}
