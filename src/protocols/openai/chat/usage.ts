/** Token usage in chat completion format. */
import type { Usage } from '../../../core/model/event.ts'

/** Undefined unless input and output tokens were measured. */
export function toChatUsage(usage: Usage | undefined): object | undefined {
  if (usage?.inputTokens === undefined || usage.outputTokens === undefined) return undefined
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cachedInputTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
    ...(reasoningTokens !== undefined && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  }
}
