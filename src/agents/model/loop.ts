/** Agent loop: calls the model, executes its tool calls, and repeats until the model responds without any. */
import type { FlexibleSchema, LanguageModel, ModelMessage } from 'ai'
import { type Emission, type RunContext, WorkError } from '../../core/ports/component.ts'
import { type CallResults, makeCalls } from './tools/calls.ts'
import { checkOutput, outputOf } from './output.ts'
import { requestModel, type ModelToolCall } from './request.ts'
import type { RetryPolicy } from './retry.ts'
import type { Sdk } from './sdk.ts'
import type { ModelSettings } from './settings.ts'
import type { Toolbox } from './tools/tools.ts'

/** Defaults of model agents and teams. */
export const MAX_STEPS = 20
export const CONCURRENCY = 8

export interface LoopOptions {
  readonly sdk: Sdk
  readonly model: LanguageModel
  readonly instructions?: string
  readonly messages: readonly ModelMessage[]
  readonly toolbox: Toolbox
  readonly output?: FlexibleSchema
  readonly settings?: ModelSettings
  readonly maxSteps: number
  readonly concurrency: number
  readonly retry: RetryPolicy
  /** Called after the tool calls of each model response. Returning an output ends the loop. */
  readonly settle?: (results: CallResults['results']) => { readonly output: unknown } | undefined
}

/** Returns the model's final response. */
export async function* loop(context: RunContext, options: LoopOptions): AsyncGenerator<Emission, unknown, void> {
  const { sdk, toolbox, maxSteps, concurrency, settle } = options
  const messages = [...options.messages]
  for (let turn = 1; ; turn++) {
    const response = await requestModel(context, turn, { ...options, messages, tools: toolbox.declared }, options.retry)
    if (response.calls.length === 0) return await outputOf(options, response)
    if (turn >= maxSteps) throw endless(maxSteps, response.calls)
    const calls = response.calls.map((call) => cutShort(call, response.finish))
    const results = yield* makeCalls(context, calls, { sdk, tools: toolbox.tools, messages, turn, concurrency })
    const settled = settle?.(results.results)
    if (settled !== undefined) return await checkOutput(options, settled.output, response)
    messages.push({ role: 'assistant', content: response.content }, results.message)
  }
}

/** Skips the tool calls of a truncated response: their input may be incomplete. */
function cutShort(call: ModelToolCall, finish: string): ModelToolCall {
  if (finish !== 'length' && finish !== 'content-filter') return call
  return { ...call, problem: `the call was not made, because the answer was cut short (${finish})` }
}

function endless(maxSteps: number, calls: readonly ModelToolCall[]): WorkError {
  return new WorkError({
    code: 'agent_failed',
    message: `the model still called tools in request ${maxSteps}, the last one allowed: raise maxSteps`,
    details: { reason: 'max_steps', maxSteps, tools: calls.map(({ name }) => name) },
  })
}
