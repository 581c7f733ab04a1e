/** Executions of paused runs that are still in memory, so that an answer resumes them without reading the log. */
import type { RunExecution } from '../execution/run-execution.ts'

export class ParkedExecutions {
  /** Oldest first. */
  readonly #executions = new Map<string, RunExecution>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** Evicts the oldest beyond the limit. It is rebuilt from its log when it is resumed. */
  add(id: string, execution: RunExecution): void {
    this.#executions.set(id, execution)
    if (this.#executions.size <= this.#max) return
    const [oldest, evicted] = this.#executions.entries().next().value!
    this.#executions.delete(oldest)
    void evicted.release()
  }

  /** The execution of a run, if no other node has written to its log. */
  take(id: string, next: number): RunExecution | undefined {
    const execution = this.#executions.get(id)
    this.#executions.delete(id)
    if (execution === undefined || (execution.next === next && !execution.isOver)) return execution
    void execution.release()
    return undefined
  }

  all(): readonly RunExecution[] {
    return [...this.#executions.values()]
  }
}
