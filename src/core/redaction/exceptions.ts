/** Hides what unexpected exceptions say: their texts name files, addresses and statements. Failures that an agent reports itself stay. */
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

/** What was thrown has its class in the details. */
function hidden(error: Failure): Failure {
  const { type, id } = (error.details ?? {}) as { readonly type?: unknown; readonly id?: unknown }
  if (error.code !== 'agent_failed' || typeof type !== 'string') return error
  const { details: _details, ...rest } = error
  if (typeof id !== 'string') return { ...rest, message: 'an exception was thrown; its text is hidden' }
  return { ...rest, message: `an exception was thrown; the server log has it as error ${id}`, details: { id } }
}
