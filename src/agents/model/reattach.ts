/** Models whose provider goes on with an answer while nobody listens: a recovered run hears the rest of it and pays once. */
import type { LanguageModel } from 'ai'

/** Makes a model that sends its requests with the `fetch` that it is given. */
export type ModelMaker = (fetch: typeof globalThis.fetch) => Exclude<LanguageModel, string>

const makers = new WeakMap<object, ModelMaker>()

/**
 * `resumable((fetch) => createOpenAI({ fetch }).responses('gpt-5.4'))`: a model of the OpenAI Responses API, asked in the
 * background. Its answers are kept by the provider (`store`), under an id that is in the run's log before the first word is.
 */
export function resumable(make: ModelMaker): LanguageModel {
  const model = make(globalThis.fetch)
  makers.set(model, make)
  return model
}

/** How to make a model anew with another `fetch`; undefined where its answers cannot be resumed. */
export function makerOf(model: LanguageModel): ModelMaker | undefined {
  return typeof model === 'string' ? undefined : makers.get(model)
}
