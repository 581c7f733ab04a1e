/** Token counts in the family's format: agno clients only read a workflow's counts by step. */
import { calledBy } from './content.ts'
import { tokensOf } from './project-content.ts'
import type { Speaker, State } from './state.ts'

export function metricsOf(state: State, speaker: Speaker): { readonly metrics?: object } {
  const { kind, usage } = speaker
  if (usage === undefined) return {}
  const tokens = tokensOf(usage)
  return { metrics: kind === 'workflow' ? { ...tokens, steps: stepMetrics(state, speaker) } : tokens }
}

/** By step name. For a repeated step, the last execution counts. */
function stepMetrics(state: State, workflow: Speaker): Readonly<Record<string, object>> {
  return Object.fromEntries(
    calledBy(state, workflow).flatMap(({ kind, name, step, usage }) => {
      if (step === undefined || usage === undefined) return []
      const title = state.steps.get(step)?.name ?? step
      return [[title, { step_name: title, executor_type: kind, executor_name: name, metrics: tokensOf(usage) }]]
    }),
  )
}
