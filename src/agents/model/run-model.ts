/** Runs a model agent. Every model request and tool call is recorded separately. */
import type { Emission, RunContext } from '../../core/ports/component.ts'
import type { ModelAgentDefinition } from './agent.ts'
import { callerOptionsOf, callerTools, withCaller } from './caller-options.ts'
import { conversation } from './history.ts'
import type { ModelInput } from './input.ts'
import { CONCURRENCY, loop, MAX_STEPS } from './loop.ts'
import { RETRIES, RETRY_DELAY_MS } from './retry.ts'
import { loadSdk } from './sdk.ts'
import { openTools } from './tools/tool-sources.ts'
import { modelInUse } from './scripted/test-model.ts'
import { toolboxOf } from './tools/tools.ts'

export async function* runModelAgent(
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
      concurrency: definition.maxConcurrentToolCalls ?? CONCURRENCY,
      retry: {
        retries: definition.retries ?? RETRIES,
        delayMs: definition.retryDelayMs ?? RETRY_DELAY_MS,
      },
    })
  } finally {
    await close()
  }
}
