/** Executions of paused runs that are still in memory, so that an answer continues them without reading the log. */
import type { RunExecution } from '../execution/run-execution.ts'

export class ParkedExecutions {
  /** Oldest first. */
  readonly #drives = new Map<string, RunExecution>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** Lets go of the oldest where there are too many: it is rebuilt from its log when it is continued. */
  add(id: string, drive: RunExecution): void {
    this.#drives.set(id, drive)
    if (this.#drives.size <= this.#max) return
    const [oldest, evicted] = this.#drives.entries().next().value!
    this.#drives.delete(oldest)
    void evicted.release()
  }

  /** The agent of a run, if nothing was written to its log behind its back. */
  take(id: string, next: number): RunExecution | undefined {
    const drive = this.#drives.get(id)
    this.#drives.delete(id)
    if (drive === undefined || (drive.next === next && !drive.isOver)) return drive
    void drive.release()
    return undefined
  }

  all(): readonly RunExecution[] {
    return [...this.#drives.values()]
  }
}
