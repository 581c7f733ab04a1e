/** Whether a path still leads to the file that was opened: a file that was removed takes writes that nobody finds again. */
import { statSync } from 'node:fs'

export interface FileIdentity {
  readonly device: bigint
  readonly inode: bigint
}

export function identityOf(path: string): FileIdentity | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && { device: stats.dev, inode: stats.ino }
}

/** Throws when the file was removed, renamed or replaced; without its path, since anybody may read the reason in `/health`. */
export function assertInPlace(path: string, opened: FileIdentity): void {
  const found = identityOf(path)
  if (found === undefined) throw new Error('the database file was removed or renamed while it was in use; put it back')
  if (found.device === opened.device && found.inode === opened.inode) return
  throw new Error(
    'the database file was replaced by another one while it was in use; put it back, or restart the server to use the other',
  )
}
