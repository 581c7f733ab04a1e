/** The first and the last event of an AG-UI run. */
import type { Usage } from '../../../core/model/event.ts'
import { type Outcome, PROTOCOL_VERSION, type RunFinished, type RunStarted, type TokenUsage } from '../wire/events.ts'
import { toRunId } from '../wire/ids.ts'
import type { AgentState } from './state.ts'

export function started({ run, thread, runId, leg }: AgentState): RunStarted {
  return {
    type: 'RUN_STARTED',
    threadId: thread,
    runId: leg === 0 ? runId : toRunId(run, leg),
    protocolVersion: PROTOCOL_VERSION,
    metadata: { holdfast: { run } },
  }
}

export function finished(state: AgentState, outcome: Outcome, result?: unknown): RunFinished {
  const { run, thread, runId, leg } = state
  return {
    type: 'RUN_FINISHED',
    threadId: thread,
    runId: leg === 0 ? runId : toRunId(run, leg),
    outcome,
    ...(result !== undefined && { result }),
    ...usageIn(state),
  }
}

/** Usage by model; absent if no model was called. */
export function usageIn({ usage }: AgentState): { readonly usage?: readonly TokenUsage[] } {
  return usage.size === 0 ? {} : { usage: [...usage.values()] }
}

/** Adds the usage of one request. */
export function addUsage(sum: TokenUsage, usage: Usage = {}): TokenUsage {
  const added: Record<string, unknown> = { ...sum }
  for (const name of COUNTED) {
    const count = usage[name]
    if (count !== undefined) added[name] = (sum[name] ?? 0) + count
  }
  return added
}

const COUNTED = ['inputTokens', 'outputTokens', 'totalTokens', 'reasoningTokens', 'cachedInputTokens'] as const
