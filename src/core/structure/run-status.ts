/** The status of a run after each event: one table for servers, clients and pages, so that their folds agree. */
import type { EventType, LoggedEvent, LoggedEventOf } from '../model/event.ts'
import type { RunStatus } from '../model/run.ts'

/** The events that end a log, with the status that each gives its run. */
export const terminalStatusOf = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
  'run.rejected': 'rejected',
} as const satisfies Partial<Record<EventType, RunStatus>>

export type TerminalType = keyof typeof terminalStatusOf

/** The last event of a log. */
export type TerminalEvent = LoggedEventOf<TerminalType>

/** Events that are not here leave the status as it is. */
const statuses: Readonly<Partial<Record<EventType, RunStatus>>> = {
  'run.started': 'running',
  'run.resumed': 'running',
  'run.paused': 'paused',
  ...terminalStatusOf,
}

export function isTerminalType(type: string): type is TerminalType {
  return Object.hasOwn(terminalStatusOf, type)
}

export function isTerminalEvent(event: LoggedEvent): event is TerminalEvent {
  return isTerminalType(event.type)
}

export function statusAfter(status: RunStatus, type: EventType): RunStatus {
  return statuses[type] ?? status
}
