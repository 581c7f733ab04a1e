/** Worker thread for one run. If it ends before the run, the run fails with the reason. */
import { Worker } from 'node:worker_threads'
import { WorkError } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import { HostRun } from './host-run.ts'
import type { ThreadData } from './protocol.ts'

const entry = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

export interface ThreadOptions {
  readonly module: string
  readonly export: string | undefined
  readonly memoryMb: number
}

export class IsolatedThread {
  readonly run: HostRun
  readonly #worker: Worker
  readonly #exited: Promise<void>
  #cause: Error | undefined

  constructor({ module, export: name, memoryMb }: ThreadOptions) {
    const workerData: ThreadData = { holdfastIsolated: true, module, export: name }
    this.#worker = new Worker(entry, { workerData, resourceLimits: { maxOldGenerationSizeMb: memoryMb } })
    this.run = new HostRun(this.#worker)
    this.#worker.on('error', (cause: Error) => (this.#cause = uncaughtFailure(cause, memoryMb)))
    this.#worker.on('messageerror', (cause) => this.#fail(uncaughtFailure(cause, memoryMb)))
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        this.run.end()
        this.run.thread.close(this.#cause ?? exitFailure(code))
        resolve()
      })
    })
  }

  /** Terminates the thread unconditionally. Pending calls reject with the reason. */
  async terminate(reason: Error): Promise<void> {
    this.#fail(reason)
    await this.#exited
  }

  #fail(reason: Error): void {
    this.#cause ??= reason
    void this.#worker.terminate()
  }
}

function uncaughtFailure(cause: Error, memoryMb: number): WorkError {
  const { code } = cause as { code?: unknown }
  if (code === 'ERR_WORKER_OUT_OF_MEMORY')
    return failure(
      `the isolated agent needed more than ${memoryMb} MB of heap (memoryMb)`,
      { reason: 'out_of_memory', memoryMb },
      cause,
    )
  const { name: type } = cause
  return failure(`uncaught error in the isolated agent: ${messageOf(cause)}`, { reason: 'uncaught', type }, cause)
}

function exitFailure(exitCode: number): WorkError {
  return failure(`the isolated agent ended its thread with process.exit(${exitCode})`, { reason: 'exit', exitCode })
}

function failure(message: string, details: object, cause?: Error): WorkError {
  return new WorkError({ code: 'agent_failed', message, details }, cause && { cause })
}
