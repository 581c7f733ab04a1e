/** Counts the attempts that this node started and the runs that it ended, since its start. */
import type { EventType } from '../model/event.ts'
import type { RunStatus } from '../model/run.ts'

type Ended = Extract<RunStatus, 'completed' | 'failed' | 'cancelled' | 'rejected'>

const endings: Readonly<Partial<Record<EventType, Ended>>> = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
  'run.rejected': 'rejected',
}

export class RunCounts {
  readonly ended: Record<Ended, number> = { completed: 0, failed: 0, cancelled: 0, rejected: 0 }
  attempts = 0

  /** Counts an event that changes a run. */
  added(type: EventType): void {
    const ending = endings[type]
    if (ending !== undefined) this.ended[ending]++
    else if (type === 'run.started') this.attempts++
  }
}
