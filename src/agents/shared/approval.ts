/** Asks a person whether a tool call may be made. */
import type { RunContext } from '../../core/ports/component.ts'

export interface ApprovalRequest {
  readonly tool: string
  readonly input: unknown
  /** Id of the call, if there is one. */
  readonly call?: string
  /** Replaces the default prompt. */
  readonly prompt?: string
}

export interface Decision {
  readonly approved: boolean
  readonly reason?: string
}

/** `true`, or an object with details. */
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

/** Anything but an explicit approval counts as a refusal. */
export async function askDecision(
  context: RunContext,
  { tool, input, call, prompt }: ApprovalRequest,
): Promise<Decision> {
  const answer = await context.ask({
    kind: 'approval',
    prompt: prompt ?? `May ${tool} be called?`,
    schema: APPROVAL_SCHEMA,
    details: { tool, input: input ?? null, ...(call !== undefined && { call }) },
  })
  const { approved, reason } = (typeof answer === 'object' && answer !== null ? answer : { approved: answer }) as {
    approved?: unknown
    reason?: unknown
  }
  return { approved: approved === true, ...(typeof reason === 'string' && reason !== '' && { reason }) }
}
