/** Maps the SDK's token usage to Holdfast's. */
import type { LanguageModelUsage } from 'ai'
import type { Usage } from '../../core/model/event.ts'
import { usageOf as usageOfCounts } from '../shared/usage.ts'

export function usageOf(counted: LanguageModelUsage): Usage {
  return usageOfCounts({
    inputTokens: counted.inputTokens,
    outputTokens: counted.outputTokens,
    totalTokens: counted.totalTokens,
    reasoningTokens: counted.outputTokenDetails?.reasoningTokens,
    cachedInputTokens: counted.inputTokenDetails?.cacheReadTokens,
  })
}
