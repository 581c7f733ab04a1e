/** Questions about a tool call: whether it may run, or what its result is. */
import { messageOf } from '../../core/model/errors.ts'
import { askDecision } from '../shared/approval.ts'
import type { CallOutcome, ReadyCall } from './tools/calls.ts'
import type { Sdk } from './sdk.ts'
import { check } from './tools/tools.ts'

/** Undefined: approved. */
export async function askApproval({ name, id, input, context }: ReadyCall): Promise<CallOutcome | undefined> {
  const { approved, reason } = await askDecision(context, { tool: name, input, call: id })
  if (approved) return undefined
  const because = reason === undefined ? '' : `: ${reason}`
  return { state: 'denied', failure: { code: 'forbidden', message: `the call was not approved${because}` } }
}

/** Asks the caller to execute the tool; the answer is its result. */
export async function askResult({ name, id, input, tool, context }: ReadyCall, sdk: Sdk): Promise<CallOutcome> {
  const schema = tool.outputSchema === undefined ? undefined : await sdk.asSchema(tool.outputSchema).jsonSchema
  const value = await context.ask({
    kind: 'tool',
    prompt: `What is the result of ${name}?`,
    details: { tool: name, input: input ?? null, call: id },
    // A copy: a JSON Schema of zod is a Standard Schema too, but an invalid result fails the call instead of being asked for again.
    ...(schema !== undefined && { schema: { ...schema } }),
  })
  if (tool.outputSchema === undefined) return { state: 'done', value }
  const result = await check(sdk, tool.outputSchema, value, `invalid result of tool ${name}`).catch(
    (thrown: unknown) => ({ problem: messageOf(thrown) }),
  )
  if (!('problem' in result)) return { state: 'done', value }
  return { state: 'failed', failure: { code: 'invalid_request', message: result.problem } }
}
