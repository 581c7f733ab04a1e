/** Policies for responses that look wrong but may be right: an empty one, one without a finish reason, one with an error. */
import { WorkError } from '../../core/ports/component.ts'
import { oneOf, type OptionRules } from '../../core/model/check-options.ts'
import type { UpstreamCode } from '../shared/upstream-codes.ts'
import type { ChatOutput } from './chat-output.ts'

export type ResponsePolicy = 'fail' | 'accept'

/** What happens to responses of an upstream that look wrong but may be right. */
export interface ResponsePolicies {
  /** An empty response that ended with `stop` and used no tokens. Default: `fail`, with `upstream_empty`. */
  readonly onEmptyResponse?: ResponsePolicy
  /** A stream that ended cleanly without a finish reason. Default: `fail`, with `upstream_incomplete`. */
  readonly onIncompleteResponse?: ResponsePolicy
  /** The finish reason `error`, or an error beside another one. Default: `fail`, with `upstream_error`. */
  readonly onErrorResponse?: ResponsePolicy
}

const policyRule = oneOf('fail', 'accept')
export const responseRules: OptionRules<ResponsePolicies> = {
  onEmptyResponse: policyRule,
  onIncompleteResponse: policyRule,
  onErrorResponse: policyRule,
}

export function assertTrustworthy(
  output: ChatOutput,
  { onEmptyResponse, onIncompleteResponse, onErrorResponse }: ResponsePolicies,
): void {
  const { finish } = output
  if (onErrorResponse !== 'accept' && (output.error !== undefined || finish === 'error'))
    throw untrustedResponse(
      'upstream_error',
      output.error ?? 'the upstream ended its response with the finish reason "error"',
    )
  if (onIncompleteResponse !== 'accept' && finish === undefined)
    throw untrustedResponse('upstream_incomplete', 'the upstream ended its stream without a finish reason')
  if (
    onEmptyResponse !== 'accept' &&
    finish === 'stop' &&
    !output.hasContent &&
    (output.usage?.outputTokens ?? 0) === 0
  )
    throw untrustedResponse(
      'upstream_empty',
      'the upstream ended an empty response that took no tokens as if it were complete',
    )
}

function untrustedResponse(code: UpstreamCode, message: string): WorkError {
  return new WorkError({ code, message })
}
