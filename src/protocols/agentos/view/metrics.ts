/** Token counts of a run, in the form of its family: agno's clients read those of a workflow by step, and no others. */
import { calledBy } from './content.ts'
import { tokensOf } from './project-content.ts'
import type { Speaker, State } from './state.ts'

export function metricsOf(state: State, speaker: Speaker): { readonly metrics?: object } {
  const { kind, usage } = speaker
  if (usage === undefined) return {}
  const tokens = tokensOf(usage)
  return { metrics: kind === 'workflow' ? { ...tokens, steps: stepMetrics(state, speaker) } : tokens }
}

/** By the name of the step; what a step did again counts as it was the last time. */
function stepMetrics(state: State, workflow: Speaker): Readonly<Record<string, object>> {
  return Object.fromEntries(
    calledBy(state, workflow).flatMap(({ kind, name, step, usage }) => {
      if (step === undefined || usage === undefined) return []
      const title = state.steps.get(step)?.name ?? step
      return [[title, { step_name: title, executor_type: kind, executor_name: name, metrics: tokensOf(usage) }]]
    }),
  )
}
