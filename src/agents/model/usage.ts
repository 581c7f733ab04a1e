/** Tokens: the SDK's count as ours, and the sum of several requests. */
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

/** What only one of them counted is not lost. */
export function addUsage(one: Usage, other: Usage): Usage {
  const sum: Record<string, number | undefined> = { ...one }
  for (const [name, count] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + count
  return withoutGaps(sum)
}

function withoutGaps(counts: Readonly<Record<string, number | undefined>>): Usage {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => Number.isFinite(count)))
}
