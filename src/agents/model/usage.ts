/** Tokens: the SDK's count as ours. */
import type { LanguageModelUsage } from 'ai'
import type { Usage } from '../../core/event.ts'

export function usageOf(counted: LanguageModelUsage): Usage {
  return withoutGaps({
    inputTokens: counted.inputTokens,
    outputTokens: counted.outputTokens,
    totalTokens: counted.totalTokens,
    reasoningTokens: counted.outputTokenDetails?.reasoningTokens,
    cachedInputTokens: counted.inputTokenDetails?.cacheReadTokens,
  })
}

function withoutGaps(counts: Readonly<Record<string, number | undefined>>): Usage {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => Number.isFinite(count)))
}
