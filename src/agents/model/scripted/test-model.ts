/** The model that a test uses instead of those of the components, including members, steps and called agents. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { LanguageModel } from 'ai'

const replacement = new AsyncLocalStorage<LanguageModel>()

/** Everything started within `work` uses this model. */
export function withTestModel<Result>(model: LanguageModel, work: () => Result): Result {
  return replacement.run(model, work)
}

export function modelInUse(own: LanguageModel): LanguageModel {
  return replacement.getStore() ?? own
}
