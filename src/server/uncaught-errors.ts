/**
 * Uncaught errors of agents, from timer callbacks, abort listeners and unhandled rejections, fail the run whose code threw them.
 * All other code keeps Node's behaviour: it belongs to the host application.
 */
import type { AsyncLocalStorage } from 'node:async_hooks'
import type { ExecutionTrace, UncaughtOrigin } from '../core/ports/execution-trace.ts'

let storage: AsyncLocalStorage<ExecutionTrace> | undefined
/** Number of servers and workers in this process. */
let hosts = 0

/** Shared by all servers of the process, which has one set of listeners. */
export function executionStorage(): AsyncLocalStorage<ExecutionTrace> {
  storage ??= new (process.getBuiltinModule('node:async_hooks').AsyncLocalStorage)<ExecutionTrace>()
  return storage
}

/** The run whose code is executing or, in a listener for uncaught errors, whose code threw. */
export function currentExecution(): ExecutionTrace | undefined {
  return storage?.getStore()
}

/** Handles uncaught errors of runs from now on, until the returned function is called. */
export function handleUncaughtErrors(): () => void {
  if (hosts++ === 0) {
    process.on('uncaughtException', onException)
    process.on('unhandledRejection', onRejection)
  }
  let isHandling = true
  return () => {
    if (!isHandling) return
    isHandling = false
    if (--hosts > 0) return
    process.off('uncaughtException', onException)
    process.off('unhandledRejection', onRejection)
  }
}

function onRejection(reason: unknown): void {
  if (crashRun(reason, 'unhandledRejection') || process.listenerCount('unhandledRejection') > 1) return
  // This listener would silence it. Node throws it, unless configured to warn.
  if (rejectionMode() === 'throw') throw reason instanceof Error ? reason : new UnhandledRejection(reason)
}

function onException(error: unknown): void {
  if (crashRun(error, 'uncaughtException') || process.listenerCount('uncaughtException') > 1) return
  // Rethrown without this listener, it is printed and ends the process, as usual.
  process.off('uncaughtException', onException)
  process.nextTick(() => {
    throw error
  })
}

function crashRun(thrown: unknown, origin: UncaughtOrigin): boolean {
  const execution = currentExecution()
  execution?.crash(thrown, origin)
  return execution !== undefined
}

class UnhandledRejection extends Error {
  override readonly name = 'UnhandledRejection'

  constructor(reason: unknown) {
    super('unhandled rejection with a value that is not an Error', { cause: reason })
  }
}

/** Value of `--unhandled-rejections`. */
function rejectionMode(): 'throw' | 'warn' {
  const options = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  return /--unhandled-rejections[= ](?:warn|none)/.test(options) ? 'warn' : 'throw'
}
