/**
 * Hides the messages of unexpected exceptions: they may name files, addresses and SQL. Failures that an agent reports itself are
 * kept.
 */
import type { Event, Failure } from '../model/event.ts'

export function hideException(event: Event): Event {
  switch (event.type) {
    case 'run.failed':
    case 'actor.failed':
    case 'tool.failed':
    case 'step.failed':
      return { ...event, data: { ...event.data, error: hidden(event.data.error) } } as Event
    default:
      return event
  }
}

/** A thrown error has its class in the details. */
function hidden(error: Failure): Failure {
  const { type, id } = (error.details ?? {}) as { readonly type?: unknown; readonly id?: unknown }
  if (error.code !== 'agent_failed' || typeof type !== 'string') return error
  const { details: _details, ...rest } = error
  if (typeof id !== 'string') return { ...rest, message: 'an exception was thrown; its text is hidden' }
  return { ...rest, message: `an exception was thrown; the server log has it as error ${id}`, details: { id } }
}
