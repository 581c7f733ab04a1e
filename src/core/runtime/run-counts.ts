/** Counts the attempts that this node started and the runs that it ended, since its start. */
import type { EventType } from '../model/event.ts'
import { isTerminalType, terminalStatusOf, type TerminalType } from '../structure/run-status.ts'

export class RunCounts {
  readonly ended: Record<(typeof terminalStatusOf)[TerminalType], number> = {
    completed: 0,
    failed: 0,
    cancelled: 0,
    rejected: 0,
  }
  attempts = 0

  /** Counts an event that changes a run. */
  added(type: EventType): void {
    if (isTerminalType(type)) this.ended[terminalStatusOf[type]]++
    else if (type === 'run.started') this.attempts++
  }
}
