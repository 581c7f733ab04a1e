/** Adapts AI SDK tools for the loop: their declaration for the model, and their execution. */
import type { FlexibleSchema, JSONValue, ModelMessage, Tool, ToolExecutionOptions, ToolSet } from 'ai'
import type { RunContext, ToolAttempt } from '../../../core/ports/component.ts'
import { messageOf } from '../../../core/model/errors.ts'
import type { Sdk } from '../sdk.ts'

/** Call details for a tool, in addition to the SDK's: on its options, and as their `context`. */
export interface ToolContext extends Record<string, unknown> {
  readonly runId: string
  readonly sessionId: string
  /** Key of the principal that started the run. */
  readonly owner: string
  /** Stable across retries of this call: pass it to the service that the tool calls. */
  readonly idempotencyKey: string
  readonly signal: AbortSignal
  /** Emits progress while the tool runs. A generator that yields does the same. */
  readonly progress: ToolAttempt['progress']
}

/** Marks a tool as safe to repeat after a crash. */
export function idempotent<Marked extends object>(tool: Marked): Marked & { readonly idempotent: true } {
  return { ...tool, idempotent: true }
}

/** One execution of a call. */
export interface ToolRun {
  readonly call: string
  readonly context: RunContext
  readonly attempt: ToolAttempt
  /** The messages that the model saw when it requested the call. */
  readonly messages: readonly ModelMessage[]
}

/** A tool of the loop. Without `execute`, the caller executes it. */
export interface LoopTool {
  readonly idempotent: boolean
  check(input: unknown): Promise<CheckedInput>
  execute?(input: unknown, run: ToolRun): Promise<unknown>
  needsApproval?(input: unknown, about: { call: string; messages: readonly ModelMessage[] }): Promise<boolean>
  /** `depends`: on the result of `needsApproval` for the call. */
  readonly approval: 'never' | 'always' | 'depends'
  /** Why the model may not make this call now. Evaluated for each call in order, in every attempt. */
  admit?(turn: number): string | undefined
  /** Schema of the result, if the caller executes the tool. */
  readonly outputSchema?: FlexibleSchema
  toModelOutput?(about: { toolCallId: string; input: unknown; output: unknown }): ToolOutput | PromiseLike<ToolOutput>
}

export type CheckedInput = { readonly input: unknown } | { readonly problem: string }

/** A tool's result in the model's format. */
export type ToolOutput = Awaited<ReturnType<NonNullable<Tool['toModelOutput']>>>

export interface Toolbox {
  /** Declarations for the model: no functions, schemas for description only. */
  readonly declared: ToolSet
  readonly tools: ReadonlyMap<string, LoopTool>
}

/**
 * The SDK parses a call's input without validating it: an input that a schema transforms, such as a date, would change in the
 * log. It is validated when the call is made.
 */
export async function toolboxOf(sdk: Sdk, toolSet: ToolSet): Promise<Toolbox> {
  const declared: Record<string, Tool> = {}
  const tools = new Map<string, LoopTool>()
  for (const [name, tool] of Object.entries(toolSet as Record<string, Tool>)) {
    if (tool.type === 'provider') declared[name] = tool
    else declared[name] = await withDescription(sdk, tool)
    if (tool.isProviderExecuted !== true) tools.set(name, loopTool(sdk, name, tool))
  }
  return { declared, tools }
}

async function withDescription(sdk: Sdk, tool: Tool): Promise<Tool> {
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
  const { runId, sessionId, owner } = context
  const { key: idempotencyKey, signal, progress } = attempt
  const about: ToolContext = { runId, sessionId, owner, idempotencyKey, signal, progress }
  return {
    ...about,
    toolCallId: call,
    messages: [...messages],
    abortSignal: signal,
    context: about as never,
  }
}

/** A tool may yield several results, each replacing the last: all are shown, and the last one is its result. */
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

/** Takes a result from the log, so it is JSON. */
export function outputFor(value: unknown): ToolOutput {
  return typeof value === 'string' ? { type: 'text', value } : { type: 'json', value: (value ?? null) as JSONValue }
}
