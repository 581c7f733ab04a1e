/** What a run makes of answers that look wrong but cannot be proved to be. */
import { WorkFailure } from '../../core/ports/component.ts'
import type { UpstreamCode } from '../shared/remote.ts'
import type { ShownChat } from './shown-chat.ts'

export type SuspectPolicy = 'fail' | 'accept'

export interface SuspectPolicies {
  /** An empty answer that ended with `stop` and took no tokens. Default: `fail`, with `upstream_empty`. */
  readonly empty?: SuspectPolicy
  /** A stream that ended cleanly without a finish reason. Default: `fail`, with `upstream_incomplete`. */
  readonly incomplete?: SuspectPolicy
  /** The finish reason `error`, or an error beside another one. Default: `fail`, with `upstream_error`. */
  readonly error?: SuspectPolicy
}

export function assertTrustworthy(shown: ShownChat, { empty, incomplete, error }: SuspectPolicies): void {
  const { finish } = shown
  if (error !== 'accept' && (shown.error !== undefined || finish === 'error'))
    throw suspect('upstream_error', shown.error ?? 'the upstream ended its answer with the finish reason "error"')
  if (incomplete !== 'accept' && finish === undefined)
    throw suspect('upstream_incomplete', 'the upstream ended its stream without a finish reason')
  if (empty !== 'accept' && finish === 'stop' && !shown.hasContent && (shown.usage?.outputTokens ?? 0) === 0)
    throw suspect('upstream_empty', 'the upstream ended an empty answer that took no tokens as if it were complete')
}

function suspect(code: UpstreamCode, message: string): WorkFailure {
  return new WorkFailure({ code, message })
}
