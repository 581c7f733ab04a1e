/** Calls the code of a run's agent, so that everything it starts can be traced back to the run, aborted and closed. */
import type { Emission } from '../ports/component.ts'
import type { ExecutionTrace } from '../ports/execution-trace.ts'
import type { NodeDeps } from '../node-deps.ts'

export class AgentCode {
  readonly trace: ExecutionTrace
  readonly #deps: Pick<NodeDeps, 'executions' | 'logger'>
  readonly #controller = new AbortController()
  #iterator: AsyncIterator<Emission, unknown> | undefined

  constructor(deps: Pick<NodeDeps, 'executions' | 'logger'>, trace: ExecutionTrace) {
    this.#deps = deps
    this.trace = trace
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  call<Result>(work: () => Result): Result {
    return this.#deps.executions.run(this.trace, work)
  }

  /** Takes the iterator of the running component, which `close` closes. */
  open(iterator: AsyncIterator<Emission, unknown>): AsyncIterator<Emission, unknown> {
    this.#iterator = iterator
    return iterator
  }

  /** Abort listeners are agent code, so they run in the agent's trace and not in the caller's. */
  abort(reason: DOMException): void {
    this.call(() => this.#controller.abort(reason))
  }

  /** An agent suspended at a yield runs its `finally` blocks. A busy one learns of the end by its signal. */
  close(): void {
    const iterator = this.#iterator
    this.#iterator = undefined
    const closed = this.call(async () => iterator?.return?.())
    closed.catch((cause: unknown) => {
      this.#deps.logger.debug({ run: this.trace.run, err: cause }, 'agent cleanup failed after its run ended')
    })
  }
}
