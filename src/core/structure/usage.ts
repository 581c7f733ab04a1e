/** Token usage of a run: by model while it is running, in total when it has ended. Includes retracted output, which was paid for. */
import type { LoggedEvent, Usage } from '../model/event.ts'
import type { SavedUsage } from './saved-structure.ts'

/** Requests to one model, and their tokens. */
export interface ModelUsage {
  readonly model: string
  readonly requests: number
  readonly input: number
  readonly output: number
  readonly reasoning: number
  readonly cached: number
}

/** Folds token usage from a run's events: by model while it runs, in total when it has ended. */
export class UsageFold {
  readonly #models = new Map<string, ModelUsage>()
  /** Total from the run's terminal event. */
  whole: Usage | undefined

  get models(): ModelUsage[] {
    return [...this.#models.values()]
  }

  get total(): number | undefined {
    const { whole } = this
    if (whole !== undefined) return whole.totalTokens ?? (whole.inputTokens ?? 0) + (whole.outputTokens ?? 0)
    if (this.#models.size === 0) return undefined
    return this.models.reduce((sum, { input, output }) => sum + input + output, 0)
  }

  restore({ models, whole }: SavedUsage): void {
    for (const usage of models) this.#models.set(usage.model, usage)
    this.whole = whole
  }

  apply(event: LoggedEvent): void {
    if (event.type === 'model.responded') this.#add(event.data.model, event.data.usage)
    if (event.type === 'run.completed' || event.type === 'run.failed' || event.type === 'run.cancelled')
      this.whole = event.data.usage
  }

  #add(model: string, usage: Usage = {}): void {
    const known = this.#models.get(model) ?? { model, requests: 0, input: 0, output: 0, reasoning: 0, cached: 0 }
    this.#models.set(model, {
      model,
      requests: known.requests + 1,
      input: known.input + (usage.inputTokens ?? 0),
      output: known.output + (usage.outputTokens ?? 0),
      reasoning: known.reasoning + (usage.reasoningTokens ?? 0),
      cached: known.cached + (usage.cachedInputTokens ?? 0),
    })
  }
}
