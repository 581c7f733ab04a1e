/** Name of a language model, for events and listings. */
import type { LanguageModel } from 'ai'

export function nameOf(model: LanguageModel): { model: string; provider?: string } {
  return typeof model === 'string' ? { model } : { model: model.modelId, provider: model.provider }
}

/** The same, for component listings. */
export function describeModel(model: LanguageModel): { id: string; provider?: string } {
  const { model: id, ...rest } = nameOf(model)
  return { id, ...rest }
}
