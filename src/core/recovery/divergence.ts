/** Handles a run whose code no longer matches its log: asks its owner, or fails it. */
import type { DivergencePolicy } from '../ports/component.ts'
import type { Failure, Question } from '../model/event.ts'
import { RunFailure } from '../execution/run-failure.ts'
import type { Ledger } from './ledger.ts'
import type { Divergence, RequestedWork } from './replay-barrier.ts'
import { type DivergenceDecision, divergenceDecision } from './ledger-reader.ts'

/** What the decision needs from the execution. */
export interface DivergenceHost {
  readonly component: string
  readonly policy: DivergencePolicy
  readonly ledger: Ledger
  wait(question: Question): Promise<unknown>
  fail(failure: Failure): Promise<never>
}

/** Resolves if the run may continue without the recorded work that the code did not request. */
export async function settleDivergence(host: DivergenceHost, divergence: Divergence): Promise<void> {
  const { policy, ledger } = host
  const what = describe(host.component, divergence)
  if (policy === 'fail') return host.fail(divergedFailure(what, divergence))
  for (;;) {
    const answer = await host.wait({
      id: ledger.newKey('ask', 'diverged'),
      kind: 'diverged',
      prompt: `${what}. Retry (after you fixed the code), continue (execute the new work), or fail the run?`,
      schema: DECISION_SCHEMA,
      details: { ...divergence, choices: DECISIONS },
    })
    const decision = divergenceDecision(answer)
    if (decision === 'fail') return host.fail(divergedFailure(what, divergence))
    // A retry restarts the agent from the log, on the node that receives the answer.
    if (decision === 'continue') return ledger.passAll()
  }
}

function describe(component: string, { index, recorded, asked }: Divergence): string {
  return (
    `component ${component} no longer matches the log of this run: ${requestText(asked)} ` +
    `without requesting ${recorded.kind} ${recorded.name} of event ${index} again`
  )
}

function requestText({ kind, name, error }: RequestedWork): string {
  if (kind !== 'end') return `the code requested ${kind} ${name}, which the log does not have,`
  return error === undefined ? `${name} ended` : `${name} failed (${error}) and ended`
}

/** Failure of a run that diverged. */
export function divergedFailure(message: string, details?: unknown): Failure {
  return new RunFailure('diverged', message, details).failure
}

const DECISIONS: readonly DivergenceDecision[] = ['retry', 'continue', 'fail']

const DECISION_SCHEMA = {
  oneOf: [{ enum: DECISIONS }, { type: 'object', properties: { action: { enum: DECISIONS } }, required: ['action'] }],
}
