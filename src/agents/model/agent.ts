/** An agent that is a model with instructions and tools, on the AI SDK: each request and each call is durable by itself. */
import type { FlexibleSchema, LanguageModel, ModelMessage, ToolSet } from 'ai'
import type { Component, Emission, RunContext } from '../../core/agent.ts'
import { type CommonDefinition, commonOf } from '../shared/component.ts'
import { boundHistory, checkInput, messagesOf, type ModelInput } from './input.ts'
import { loop } from './loop.ts'
import type { ModelSettings } from './request.ts'
import { RETRIES, RETRY_DELAY_MS } from './retry.ts'
import { loadSdk } from './sdk.ts'
import { toolboxOf } from './tools.ts'

export interface ModelAgentDefinition extends CommonDefinition {
  /** Any language model of the AI SDK. */
  readonly model: LanguageModel
  readonly instructions?: string
  /** Tools of the AI SDK; a function where they must be fetched first, from an MCP server for instance. */
  readonly tools?: ToolSet | ((context: RunContext) => ToolSet | Promise<ToolSet>)
  /** The answer is JSON of this schema, and the run's output is what the schema makes of it. */
  readonly output?: FlexibleSchema
  /** Requests to the model, retries apart, after which the run fails. */
  readonly maxSteps?: number
  /** Tool calls of one turn that are made at once. */
  readonly concurrency?: number
  /** How often a request that failed, or broke off in the middle, is made again; 0 fails the run at once. */
  readonly modelRetries?: number
  /** The wait before the first retry. */
  readonly retryDelayMs?: number
  readonly settings?: ModelSettings
  /** What was said before this run. The newest of it is given to the model. */
  readonly history?: (context: RunContext) => readonly ModelMessage[] | Promise<readonly ModelMessage[]>
  readonly historyMessagesMax?: number
}

export const MAX_STEPS = 20
export const CONCURRENCY = 8
export const HISTORY_MESSAGES_MAX = 50

/** The history is in the log, so that a recovered run asks the same: it must not outgrow an event. */
const HISTORY_CHARS_MAX = 500_000

export function modelAgent(definition: ModelAgentDefinition): Component<ModelInput> {
  return {
    ...commonOf(definition),
    kind: 'agent',
    parse: checkInput,
    run: (input, context) => run(definition, input, context),
  }
}

async function* run(
  definition: ModelAgentDefinition,
  input: ModelInput,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  const sdk = await loadSdk()
  const { model, instructions, tools = {}, output, settings } = definition
  const earlier = await historyOf(definition, context)
  yield* loop(context, {
    sdk,
    model,
    messages: [...earlier, ...messagesOf(input)],
    toolbox: await toolboxOf(sdk, typeof tools === 'function' ? await tools(context) : tools),
    maxSteps: definition.maxSteps ?? MAX_STEPS,
    concurrency: definition.concurrency ?? CONCURRENCY,
    retry: {
      retries: definition.modelRetries ?? RETRIES,
      delayMs: definition.retryDelayMs ?? RETRY_DELAY_MS,
    },
    ...(instructions !== undefined && { instructions }),
    ...(output !== undefined && { output }),
    ...(settings !== undefined && { settings }),
  })
}

async function historyOf(
  { history, historyMessagesMax = HISTORY_MESSAGES_MAX }: ModelAgentDefinition,
  context: RunContext,
): Promise<readonly ModelMessage[]> {
  if (history === undefined) return []
  const bound = { messagesMax: historyMessagesMax, charsMax: HISTORY_CHARS_MAX }
  return context.step('history', async () => boundHistory(await history(context), bound))
}
