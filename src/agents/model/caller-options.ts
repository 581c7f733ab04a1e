/**
 * Applies the model options that a caller sends over a protocol (core/model/caller-options.ts). The author's definition takes
 * precedence: tools of the same name, settings, the output schema. Caller instructions are appended to the agent's own.
 */
import { isObject } from '../../core/model/is-object.ts'
import type { LanguageModel, ToolSet } from 'ai'
import type { CallerOptions, CallerSettings, CallerTool } from '../../core/model/caller-options.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import type { LoopOptions } from './loop.ts'
import type { Sdk } from './sdk.ts'

const SETTINGS: readonly string[] = [
  'maxOutputTokens',
  'temperature',
  'topP',
  'presencePenalty',
  'frequencyPenalty',
  'stopSequences',
  'seed',
] satisfies (keyof CallerSettings)[]

/** Validates the shape. */
export function callerOptionsOf(input: unknown): CallerOptions {
  const caller = (input as { caller?: unknown } | null | undefined)?.caller
  if (caller === undefined) return {}
  if (typeof caller !== 'object' || caller === null) throw refusal('`caller` is not an object')
  const { instructions, tools, toolChoice, output, settings } = caller as Record<string, unknown>
  if (instructions !== undefined && typeof instructions !== 'string')
    throw refusal('`caller.instructions` is not a string')
  if (tools !== undefined && !(Array.isArray(tools) && tools.every(isTool)))
    throw refusal('`caller.tools` is not a list of named tools')
  if (toolChoice !== undefined && !isChoice(toolChoice)) throw refusal('`caller.toolChoice` is not a choice')
  for (const [name, value] of Object.entries({ output, settings }))
    if (value !== undefined && !isObject(value)) throw refusal(`\`caller.${name}\` is not an object`)
  return caller
}

function isTool(tool: unknown): tool is CallerTool {
  if (!isObject(tool)) return false
  const { name, description, parameters } = tool
  if (typeof name !== 'string' || name === '') return false
  return (
    (description === undefined || typeof description === 'string') && (parameters === undefined || isObject(parameters))
  )
}

function isChoice(choice: unknown): boolean {
  if (isObject(choice)) return typeof choice['tool'] === 'string'
  return choice === 'auto' || choice === 'none' || choice === 'required'
}

function refusal(message: string): HoldfastError {
  return new HoldfastError('invalid_request', message)
}

/** Tools without `execute`: the caller supplies their results. */
export function callerTools(sdk: Sdk, { tools = [], toolChoice }: CallerOptions): ToolSet {
  if (toolChoice === 'none') return {}
  const entries = tools.map(({ name, description, parameters = { type: 'object', properties: {} } }) => [
    name,
    sdk.tool({ inputSchema: sdk.jsonSchema(parameters), ...(description !== undefined && { description }) }),
  ])
  return Object.fromEntries(entries) as ToolSet
}

type CallerOverrides = Pick<LoopOptions, 'model' | 'instructions' | 'output' | 'settings'>

/** Merges the caller's options into the agent's definition. */
export function withCaller(
  sdk: Sdk,
  caller: CallerOptions,
  { model, instructions, output, settings }: CallerOverrides,
): CallerOverrides {
  const instructionTexts = [instructions, caller.instructions].filter((text) => text !== undefined && text !== '')
  const outputSchema = output ?? (caller.output === undefined ? undefined : sdk.jsonSchema(caller.output))
  const set = { ...settingsOf(caller), ...settings }
  return {
    model: withToolChoice(sdk, model, caller),
    ...(instructionTexts.length > 0 && { instructions: instructionTexts.join('\n\n') }),
    ...(outputSchema !== undefined && { output: outputSchema }),
    ...(Object.keys(set).length > 0 && { settings: set }),
  }
}

function settingsOf({ settings = {} }: CallerOptions): CallerSettings {
  const present = Object.entries(settings).filter(([name]) => SETTINGS.includes(name))
  return Object.fromEntries(present)
}

/** Applies to requests that end with a user message: forced after every tool result, the model would call tools forever. */
function withToolChoice(sdk: Sdk, model: LanguageModel, { toolChoice }: CallerOptions): LanguageModel {
  if (toolChoice === undefined || toolChoice === 'auto' || toolChoice === 'none' || typeof model === 'string')
    return model
  const choice =
    toolChoice === 'required' ? ({ type: 'required' } as const) : ({ type: 'tool', toolName: toolChoice.tool } as const)
  return sdk.wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }) =>
        params.prompt.at(-1)?.role === 'user' ? { ...params, toolChoice: choice } : params,
    },
  })
}
