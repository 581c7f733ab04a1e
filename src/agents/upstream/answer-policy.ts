/** Policies for responses that look wrong but may be right: an empty one, one without a finish reason, one with an error. */
import { WorkError } from '../../core/ports/component.ts'
import { oneOf, type OptionRules } from '../../core/model/check-options.ts'
import type { UpstreamCode } from '../shared/upstream-codes.ts'
import type { ChatOutput } from './chat-output.ts'

export type AnswerPolicy = 'fail' | 'accept'

/** What happens to responses of an upstream that look wrong but may be right. */
export interface AnswerPolicies {
  /** An empty response that ended with `stop` and used no tokens. Default: `fail`, with `upstream_empty`. */
  readonly onEmptyAnswer?: AnswerPolicy
  /** A stream that ended cleanly without a finish reason. Default: `fail`, with `upstream_incomplete`. */
  readonly onIncompleteAnswer?: AnswerPolicy
  /** The finish reason `error`, or an error beside another one. Default: `fail`, with `upstream_error`. */
  readonly onErrorAnswer?: AnswerPolicy
}

const policyRule = oneOf('fail', 'accept')
export const answerRules: OptionRules<AnswerPolicies> = {
  onEmptyAnswer: policyRule,
  onIncompleteAnswer: policyRule,
  onErrorAnswer: policyRule,
}

export function assertTrustworthy(
  output: ChatOutput,
  { onEmptyAnswer, onIncompleteAnswer, onErrorAnswer }: AnswerPolicies,
): void {
  const { finish } = output
  if (onErrorAnswer !== 'accept' && (output.error !== undefined || finish === 'error'))
    throw rejectedAnswer(
      'upstream_error',
      output.error ?? 'the upstream ended its answer with the finish reason "error"',
    )
  if (onIncompleteAnswer !== 'accept' && finish === undefined)
    throw rejectedAnswer('upstream_incomplete', 'the upstream ended its stream without a finish reason')
  if (onEmptyAnswer !== 'accept' && finish === 'stop' && !output.hasContent && (output.usage?.outputTokens ?? 0) === 0)
    throw rejectedAnswer(
      'upstream_empty',
      'the upstream ended an empty answer that took no tokens as if it were complete',
    )
}

function rejectedAnswer(code: UpstreamCode, message: string): WorkError {
  return new WorkError({ code, message })
}
