/** Prints the progress of a file copy, at most once per second. */
import type { CopyProgress } from '../../server/store/store-backup.ts'
import type { CommandIo } from '../io.ts'

const PROGRESS_MS = 1000

export function copyProgress(io: CommandIo): CopyProgress {
  let printedAt = performance.now()
  return (done) => {
    if (done !== 'verifying' && performance.now() - printedAt < PROGRESS_MS) return
    printedAt = performance.now()
    io.stderr.write(done === 'verifying' ? 'verifying the copy …\n' : `${Math.floor(100 * done.copied)} % copied …\n`)
  }
}
