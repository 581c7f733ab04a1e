/**
 * Errors that agents leave uncaught: a timer callback or abort listener that throws, a promise that nobody awaits. They fail the run
 * whose code threw them. Everything else in the process keeps Node's own behaviour: it belongs to whoever embeds the server.
 */
import type { AsyncLocalStorage } from 'node:async_hooks'
import type { ExecutionTrace, UncaughtOrigin } from '../core/ports/execution-trace.ts'

let storage: AsyncLocalStorage<ExecutionTrace> | undefined
/** Servers and workers of this process. */
let hosts = 0

/** One for all servers of the process, since the process has one set of listeners. */
export function executionStorage(): AsyncLocalStorage<ExecutionTrace> {
  storage ??= new (process.getBuiltinModule('node:async_hooks').AsyncLocalStorage)<ExecutionTrace>()
  return storage
}

/** The run whose code is running; in a listener for uncaught errors, the run whose code threw. */
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
  // Our listener would silence it. Node raises it as an exception, unless it was told to only warn.
  if (rejectionMode() === 'throw') throw reason instanceof Error ? reason : new UnhandledRejection(reason)
}

function onException(error: unknown): void {
  if (crashRun(error, 'uncaughtException') || process.listenerCount('uncaughtException') > 1) return
  // Thrown once more without a listener, it is printed and ends the process, as it would without us.
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
    super('a promise was rejected with a value that is no error, and nothing handled it', { cause: reason })
  }
}

/** What `--unhandled-rejections` says. */
function rejectionMode(): 'throw' | 'warn' {
  const options = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  return /--unhandled-rejections[= ](?:warn|none)/.test(options) ? 'warn' : 'throw'
}
