/**
 * Handles uncaught errors outside of runs. Errors of components and their packages are logged and do not end the process. A bug in
 * Holdfast itself may leave it unable to commit or respond, so the process exits and the next one recovers the runs.
 */
import type { Logger } from '../../core/ports/logger.ts'
import { TokenBuckets } from '../../core/runtime/token-bucket.ts'
import { currentExecution } from '../../server/uncaught-errors.ts'
import { FAILED } from '../exit-codes.ts'
import { ownCode } from '../own-code.ts'

/** Limits the log output of code that throws repeatedly. */
const LOGGED_BURST = 100
const LOGGED_PER_SECOND = 1

/** The returned function removes the handlers. */
export function surviveUncaughtErrors(logger: Logger): () => void {
  const logged = new TokenBuckets({ burst: LOGGED_BURST, perSecond: LOGGED_PER_SECOND })
  const log = (thrown: unknown, message: string): void => {
    if (logged.take('uncaught') === 0) logger.error({ err: thrown }, message)
  }
  const onRejection = (reason: unknown): void => {
    if (currentExecution() === undefined) log(reason, 'unhandled rejection outside of any run')
  }
  const onException = (error: Error): void => {
    if (currentExecution() !== undefined) return
    if (!isOwnDefect(error)) return log(error, 'uncaught exception outside of any run')
    // Not through the logger, which is asynchronous.
    process.stderr.write(`A bug in Holdfast ended the server: ${error.stack}\n`)
    process.exit(FAILED)
  }
  process.on('unhandledRejection', onRejection)
  process.on('uncaughtException', onException)
  return () => {
    process.off('unhandledRejection', onRejection)
    process.off('uncaughtException', onException)
  }
}

const ROOT = ownCode.href
/** Components that come with Holdfast. */
const COMPONENTS = [`${ROOT}agents/`, `${ROOT}cli/demo/`]

/** Whether every stack frame, except Node's, is Holdfast's own; `root` ends with a slash. */
export function isOwnDefect(error: unknown, root = ROOT, components: readonly string[] = COMPONENTS): boolean {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return false
  const files = [...error.stack.matchAll(/\(?((?:file:|node:|\/)[^\s()]+):\d+:\d+\)?$/gm)].map(([, file]) => file!)
  const others = files.filter((file) => !file.startsWith('node:'))
  return (
    others.length > 0 && others.every((file) => file.startsWith(root) && !components.some((c) => file.startsWith(c)))
  )
}
