/** Tools of the AI SDK as the loop needs them: what the model is told about a tool, and what is done when it calls one. */
import type { FlexibleSchema, JSONValue, ModelMessage, Tool, ToolExecutionOptions, ToolSet } from 'ai'
import type { RunContext, ToolAttempt } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import type { Sdk } from './sdk.ts'

/** What a tool knows about its call, beside what the SDK gives: on its options, and as their `context`. */
export interface ToolContext extends Record<string, unknown> {
  readonly run: string
  readonly session: string
  /** Key of the principal that started the run. */
  readonly owner: string
  /** The same whenever this call is repeated: for the service that the tool calls. */
  readonly idempotencyKey: string
  readonly signal: AbortSignal
  /** Shows something to those who watch, while the tool works. A generator that yields does the same. */
  readonly progress: ToolAttempt['progress']
}

/** Marks a tool that may be repeated without harm when a crash cut it off. */
export function idempotent<Marked extends object>(tool: Marked): Marked & { readonly idempotent: true } {
  return { ...tool, idempotent: true }
}

/** One call, while it is executed. */
export interface ToolRun {
  readonly call: string
  readonly context: RunContext
  readonly attempt: ToolAttempt
  /** What the model was shown when it asked for the call. */
  readonly messages: readonly ModelMessage[]
}

/** A tool of the loop. One without `execute` is executed by whoever watches the run. */
export interface LoopTool {
  readonly idempotent: boolean
  check(input: unknown): Promise<CheckedInput>
  execute?(input: unknown, run: ToolRun): Promise<unknown>
  needsApproval?(input: unknown, about: { call: string; messages: readonly ModelMessage[] }): Promise<boolean>
  /** `depends`: on what `needsApproval` says of the call. */
  readonly approval: 'never' | 'always' | 'depends'
  /** Why the model may not have this call now. Asked for each call in order, in every attempt. */
  admit?(turn: number): string | undefined
  /** Of the result, where the caller executes the tool. */
  readonly outputSchema?: FlexibleSchema
  toModelOutput?(about: { toolCallId: string; input: unknown; output: unknown }): ToolOutput | PromiseLike<ToolOutput>
}

export type CheckedInput = { readonly input: unknown } | { readonly problem: string }

/** A tool's result as the model gets it. */
export type ToolOutput = Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>

export interface Toolbox {
  /** For the model: without functions, and with a schema that only describes. */
  readonly declared: ToolSet
  readonly tools: ReadonlyMap<string, LoopTool>
}

/**
 * The SDK parses a call's input and does not check it: an input that a schema has changed, a date for instance, would not be the
 * same after it has been in the log. It is checked when the call is made.
 */
export async function toolboxOf(sdk: Sdk, given: ToolSet): Promise<Toolbox> {
  const declared: Record<string, Tool> = {}
  const tools = new Map<string, LoopTool>()
  for (const [name, tool] of Object.entries(given as Record<string, Tool>)) {
    if (tool.type === 'provider') declared[name] = tool
    else declared[name] = await described(sdk, tool)
    if (tool.isProviderExecuted !== true) tools.set(name, loopTool(sdk, name, tool))
  }
  return { declared, tools }
}

async function described(sdk: Sdk, tool: Tool): Promise<Tool> {
  const { execute: _execute, needsApproval: _needsApproval, toModelOutput: _toModelOutput, ...rest } = tool
  return { ...rest, inputSchema: sdk.jsonSchema(await sdk.asSchema(tool.inputSchema).jsonSchema) }
}

function loopTool(sdk: Sdk, name: string, tool: Tool): LoopTool {
  const { execute, needsApproval, toModelOutput, outputSchema } = tool
  return {
    idempotent: (tool as { idempotent?: unknown }).idempotent === true,
    check: (input) => check(sdk, tool.inputSchema, input, `invalid input for tool ${name}`),
    approval: typeof needsApproval === 'function' ? 'depends' : needsApproval === true ? 'always' : 'never',
    ...(typeof needsApproval === 'function' && {
      needsApproval: async (input, { call, messages }) =>
        needsApproval(input, { toolCallId: call, messages: [...messages], context: {} as never }),
    }),
    ...(execute !== undefined && {
      execute: async (input, run) => finalOf(execute(input, executionOptions(run)), run.attempt),
    }),
    ...(outputSchema !== undefined && { outputSchema }),
    ...(toModelOutput !== undefined && { toModelOutput: (about) => toModelOutput(about) }),
  }
}

export async function check(sdk: Sdk, schema: FlexibleSchema, value: unknown, problem: string): Promise<CheckedInput> {
  const result = await sdk.asSchema(schema).validate?.(value)
  if (result === undefined) return { input: value }
  return result.success ? { input: result.value } : { problem: `${problem}: ${messageOf(result.error)}` }
}

function executionOptions({ call, context, attempt, messages }: ToolRun): ToolExecutionOptions<never> {
  const { run, session, owner } = context
  const { key: idempotencyKey, signal, progress } = attempt
  const about: ToolContext = { run, session, owner, idempotencyKey, signal, progress }
  return {
    ...about,
    toolCallId: call,
    messages: [...messages],
    abortSignal: signal,
    context: about as never,
  }
}

/** A tool may give several results, each instead of the one before: the last one is its result, and all are shown. */
async function finalOf(result: unknown, { progress }: ToolAttempt): Promise<unknown> {
  if (!isAsyncIterable(result)) return await result
  let last: unknown
  for await (const output of result) {
    last = output
    await progress(output)
  }
  return last
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === 'function'
}

/** A result that has been in the log, so that it is JSON. */
export function outputFor(value: unknown): ToolOutput {
  return typeof value === 'string' ? { type: 'text', value } : { type: 'json', value: (value ?? null) as JSONValue }
}
