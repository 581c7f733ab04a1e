/** Tool calls of one model response: executes those that can run, asks about those that need a person, and returns a result for each. */
import type { ModelMessage, ToolModelMessage } from 'ai'
import { createEvent, type Emission, type RunContext } from '../../../core/ports/component.ts'
import { RunFailure } from '../../../core/execution/run-failure.ts'
import { messageOf } from '../../../core/model/errors.ts'
import type { Failure } from '../../../core/model/event.ts'
import { mapWithConcurrency } from '../map-with-concurrency.ts'
import { askApproval, askResult } from '../questions.ts'
import type { ModelToolCall } from '../request.ts'
import type { Sdk } from '../sdk.ts'
import { type LoopTool, outputFor, type ToolOutput } from './tools.ts'

export interface CallsOptions {
  readonly sdk: Sdk
  readonly tools: ReadonlyMap<string, LoopTool>
  readonly messages: readonly ModelMessage[]
  readonly turn: number
  /** Concurrent calls. */
  readonly concurrency: number
}

export type CallOutcome =
  | { readonly state: 'done'; readonly value: unknown }
  | { readonly state: 'failed'; readonly failure: Failure }
  | { readonly state: 'denied'; readonly failure: Failure }

/** A call, its tool, and the context that holds its ledger keys. */
export interface ReadyCall extends ModelToolCall {
  readonly tool: LoopTool
  /** The input after validation. */
  readonly checked: unknown
  readonly context: RunContext
}

interface PlannedCall {
  readonly call: ModelToolCall
  readonly ready?: ReadyCall
  readonly handling: 'execute' | 'approve' | 'caller' | 'refuse'
  outcome?: CallOutcome
}

/**
 * Executes everything that needs no approval first: nothing should be running while a run waits for an answer. All questions of a
 * response are asked together.
 */
export async function* makeCalls(
  context: RunContext,
  calls: readonly ModelToolCall[],
  options: CallsOptions,
): AsyncGenerator<Emission, CallResults, void> {
  const planned: PlannedCall[] = []
  for (const [position, call] of calls.entries()) planned.push(await plan(context, call, position, options))
  for (const { call, handling: way, outcome } of planned) {
    if (way === 'refuse' || way === 'caller') yield createEvent('tool.called', callFields(call))
    if (way === 'refuse') yield* resultEvents(call, outcome!)
  }
  await executeAll(
    planned.filter(({ handling: way }) => way === 'execute'),
    options,
  )
  await askAll(planned, options.sdk)
  await executeAll(
    planned.filter(({ handling: way, outcome }) => way === 'approve' && outcome === undefined),
    options,
  )
  for (const { call, ready, handling: way, outcome } of planned) {
    const decided = way === 'approve' && (outcome!.state === 'denied' || ready!.tool.execute === undefined)
    if (decided) yield createEvent('tool.called', callFields(call))
    if (decided || way === 'caller') yield* resultEvents(call, outcome!)
  }
  const content = await Promise.all(planned.map(({ call, ready, outcome }) => resultPart(call, ready?.tool, outcome!)))
  return { message: { role: 'tool', content }, results: planned.map(({ call, outcome }) => [call.name, outcome!]) }
}

export interface CallResults {
  readonly message: ToolModelMessage
  /** Tool name and outcome of each call, in the model's order. */
  readonly results: readonly (readonly [string, CallOutcome])[]
}

async function plan(
  context: RunContext,
  call: ModelToolCall,
  position: number,
  { tools, turn, messages }: CallsOptions,
): Promise<PlannedCall> {
  const tool = tools.get(call.name)
  if (tool === undefined) return refusedCall(call, `there is no tool ${JSON.stringify(call.name)}`)
  if (call.problem !== undefined) return refusedCall(call, call.problem)
  const result = await tool.check(call.input)
  if ('problem' in result) return refusedCall(call, result.problem)
  const refusal = tool.admit?.(turn)
  if (refusal !== undefined) return refusedCall(call, refusal)
  const own = context.within(`${turn}.${position + 1}`)
  const ready: ReadyCall = { ...call, tool, checked: result.input, context: own }
  if (tool.approval === 'never') return { call, ready, handling: tool.execute === undefined ? 'caller' : 'execute' }
  try {
    const needed = tool.approval === 'always' || (await isApprovalNeeded(ready, messages))
    if (needed) return { call, ready, handling: 'approve' }
  } catch (thrown) {
    if (context.signal.aborted) throw thrown
    return refusedCall(call, `whether ${call.name} needs an approval could not be found out: ${messageOf(thrown)}`)
  }
  return { call, ready, handling: tool.execute === undefined ? 'caller' : 'execute' }
}

/** Recorded, so that a call that a person refused is not executed because the function decides differently after a crash. */
function isApprovalNeeded(
  { context, tool, checked, id }: ReadyCall,
  messages: readonly ModelMessage[],
): Promise<boolean> {
  return context.step('needs-approval', () => tool.needsApproval!(checked, { call: id, messages }))
}

function refusedCall(call: ModelToolCall, message: string): PlannedCall {
  return { call, handling: 'refuse', outcome: { state: 'failed', failure: { code: 'invalid_request', message } } }
}

function callFields({ id, name, input }: ModelToolCall): { call: string; name: string; input: unknown } {
  return { call: id, name, input: input ?? null }
}

function* resultEvents({ id: call, name }: ModelToolCall, outcome: CallOutcome): Generator<Emission> {
  if (outcome.state === 'done') yield createEvent('tool.completed', { call, name, output: outcome.value })
  else yield createEvent('tool.failed', { call, name, error: outcome.failure })
}

async function executeAll(planned: readonly PlannedCall[], { concurrency, messages }: CallsOptions): Promise<void> {
  await mapWithConcurrency(concurrency, planned, async (item) => {
    item.outcome = await execute(item.ready!, messages)
  })
}

async function execute(
  { id, name, input, tool, checked, context }: ReadyCall,
  messages: readonly ModelMessage[],
): Promise<CallOutcome> {
  try {
    const value = await context.tool({ name, id, input, idempotent: tool.idempotent }, (attempt) =>
      tool.execute!(checked, { call: id, context, attempt, messages }),
    )
    return { state: 'done', value }
  } catch (thrown) {
    // A result that cannot be recorded fails the run, not the tool.
    if (context.signal.aborted || thrown instanceof RunFailure) throw thrown
    return { state: 'failed', failure: { code: 'agent_failed', message: messageOf(thrown) } }
  }
}

async function askAll(planned: readonly PlannedCall[], sdk: Sdk): Promise<void> {
  await Promise.all(
    planned.map(async (item) => {
      if (item.handling === 'caller') item.outcome = await askResult(item.ready!, sdk)
      if (item.handling !== 'approve') return
      const denial = await askApproval(item.ready!)
      if (denial !== undefined) item.outcome = denial
      else if (item.ready!.tool.execute === undefined) item.outcome = await askResult(item.ready!, sdk)
    }),
  )
}

async function resultPart(
  { id, name, input }: ModelToolCall,
  tool: LoopTool | undefined,
  outcome: CallOutcome,
): Promise<ToolModelMessage['content'][number]> {
  return { type: 'tool-result', toolCallId: id, toolName: name, output: await outputOf(id, input, tool, outcome) }
}

async function outputOf(
  toolCallId: string,
  input: unknown,
  tool: LoopTool | undefined,
  outcome: CallOutcome,
): Promise<ToolOutput> {
  switch (outcome.state) {
    case 'done':
      if (tool?.toModelOutput === undefined) return outputFor(outcome.value)
      return tool.toModelOutput({ toolCallId, input, output: outcome.value })
    case 'failed':
      return { type: 'error-text', value: outcome.failure.message }
    case 'denied':
      return { type: 'execution-denied', reason: outcome.failure.message }
  }
}
