/** Reports damage that a copy inherited from its store. */
import type { CopyReport } from '../../server/store/store-backup.ts'
import { DONE, FAILED } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'

/** Lists the damage; returns the exit code. */
export function reportDamage({ problems, problemCount }: CopyReport['damage'], io: CommandIo): number {
  if (problemCount === 0) return DONE
  for (const problem of problems) io.stderr.write(`damaged: ${problem}\n`)
  if (problemCount > problems.length) io.stderr.write(`${problemCount - problems.length} more problems like these\n`)
  io.stderr.write('The copy has this damage of the store. All other runs and documents in it are sound.\n')
  return FAILED
}
