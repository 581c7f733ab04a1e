/** What a person is asked about a tool call: whether it may be made, or for its result. */
import { messageOf } from '../../core/errors.ts'
import type { Outcome, ReadyCall } from './calls.ts'
import type { Sdk } from './sdk.ts'
import { check } from './tools.ts'

/** `true`, or an object where there is more to say. */
const APPROVAL_SCHEMA = {
  oneOf: [
    { type: 'boolean' },
    {
      type: 'object',
      properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
      required: ['approved'],
    },
  ],
}

/** Undefined when the call may be made. Only a clear yes is one. */
export async function askApproval({ name, id, input, context }: ReadyCall): Promise<Outcome | undefined> {
  const answer = await context.ask({
    kind: 'approval',
    prompt: `May ${name} be called?`,
    schema: APPROVAL_SCHEMA,
    details: { tool: name, input: input ?? null, call: id },
  })
  const { approved, reason } = (typeof answer === 'object' && answer !== null ? answer : { approved: answer }) as {
    approved?: unknown
    reason?: unknown
  }
  if (approved === true) return undefined
  const said = typeof reason === 'string' && reason !== '' ? `: ${reason}` : ''
  return { state: 'denied', failure: { code: 'forbidden', message: `the call was not approved${said}` } }
}

/** The tool is the caller's to execute; the answer is its result. */
export async function askResult({ name, id, input, tool, context }: ReadyCall, sdk: Sdk): Promise<Outcome> {
  const schema = tool.outputSchema === undefined ? undefined : await sdk.asSchema(tool.outputSchema).jsonSchema
  const value = await context.ask({
    kind: 'tool',
    prompt: `What is the result of ${name}?`,
    details: { tool: name, input: input ?? null, call: id },
    ...(schema !== undefined && { schema }),
  })
  if (tool.outputSchema === undefined) return { state: 'done', value }
  const result = await check(sdk, tool.outputSchema, value, `invalid result of tool ${name}`).catch(
    (thrown: unknown) => ({ problem: messageOf(thrown) }),
  )
  if (!('problem' in result)) return { state: 'done', value }
  return { state: 'failed', failure: { code: 'invalid_request', message: result.problem } }
}
