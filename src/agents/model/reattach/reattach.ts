/**
 * Resumable models: the provider continues generating while nobody is connected, so a recovered run gets the rest and pays
 * once.
 */
import type { LanguageModel } from 'ai'

/** Creates a model that sends its requests with the given `fetch`. */
export type ModelMaker = (fetch: typeof globalThis.fetch) => Exclude<LanguageModel, string>

const makers = new WeakMap<object, ModelMaker>()

/**
 * `resumable((fetch) => createOpenAI({ fetch }).responses('gpt-5.4'))`: an OpenAI Responses model in background mode. The
 * provider stores its responses (`store`); the id is in the run's log before the first token.
 */
export function resumable(make: ModelMaker): LanguageModel {
  const model = make(globalThis.fetch)
  makers.set(model, make)
  return model
}

/** Recreates a model with another `fetch`; undefined if it is not resumable. */
export function makerOf(model: LanguageModel): ModelMaker | undefined {
  return typeof model === 'string' ? undefined : makers.get(model)
}
