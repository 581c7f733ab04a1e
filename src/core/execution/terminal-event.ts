/** The terminal event for the way an agent ended. */
import type { Event, Question, Usage } from '../model/event.ts'
import { RunFailure } from './run-failure.ts'
import type { TokenUsage } from './token-usage.ts'

/** The failure of an agent that ended with an unanswered question. */
export function openQuestionFailure(event: Event, unanswered: Question | undefined): RunFailure | undefined {
  if (unanswered === undefined || event.type === 'run.failed') return undefined
  const message = `the agent ended without waiting for its question ${JSON.stringify(unanswered.prompt)}`
  return new RunFailure('protocol_violation', message)
}

/** Adds the run's token usage, unless the run was rejected. */
export function withUsage(terminal: Event, tokenUsage: TokenUsage): Event {
  if (terminal.type === 'run.rejected') return terminal
  const usage = tokenUsage.end(undefined, (terminal.data as { usage?: Usage }).usage)
  return usage === undefined ? terminal : ({ ...terminal, data: { ...terminal.data, usage } } as Event)
}
