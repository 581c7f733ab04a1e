/** Model agent: instructions and tools on the AI SDK. Every model request and tool call is recorded separately. */
import type { FlexibleSchema, LanguageModel } from 'ai'
import type { Component, Emission, RunContext } from '../../core/ports/component.ts'
import { type CommonDefinition, commonOf } from '../shared/component.ts'
import { callerOptionsOf, callerTools, withCaller } from './caller-options.ts'
import { type AgentHistory, conversation } from './history.ts'
import { checkInput, type ModelInput, modelInputSchema } from './input.ts'
import { loop } from './loop.ts'
import { describeModel, type ModelSettings } from './request.ts'
import { RETRIES, RETRY_DELAY_MS } from './retry.ts'
import { loadSdk } from './sdk.ts'
import { type AgentTools, openTools } from './tool-sources.ts'
import { toolboxOf } from './tools.ts'

export interface ModelAgentDefinition extends CommonDefinition {
  /** Any AI SDK language model. */
  readonly model: LanguageModel
  readonly instructions?: string
  /** AI SDK tools, a function of the context that returns them, `mcp(…)`, or a list of these. */
  readonly tools?: AgentTools
  /** Requires the answer to be JSON of this schema. The run's output is the parsed value. */
  readonly output?: FlexibleSchema
  /** Maximum model requests, not counting retries; then the run fails. Default: 20. */
  readonly maxSteps?: number
  /** Tool calls of one turn that run concurrently. Default: 8. */
  readonly concurrency?: number
  /** How often a failed or interrupted request is retried; 0: never. */
  readonly modelRetries?: number
  /** Delay before the first retry. */
  readonly retryDelayMs?: number
  readonly settings?: ModelSettings
  /** Conversation history for the model. Default: the session's earlier runs of this agent. */
  readonly history?: AgentHistory
}

export const MAX_STEPS = 20
export const CONCURRENCY = 8

export function modelAgent(definition: ModelAgentDefinition): Component<ModelInput> {
  const common = commonOf({ inputSchema: modelInputSchema, ...definition })
  return {
    ...common,
    kind: 'agent',
    info: { ...common.info, model: describeModel(definition.model) },
    parse: checkInput,
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
      ...withCaller(sdk, caller, definition),
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
