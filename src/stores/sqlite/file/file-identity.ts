/** Whether a path still refers to the opened file: writes to a removed file are lost. */
import { statSync } from 'node:fs'

export interface FileIdentity {
  readonly device: bigint
  readonly inode: bigint
}

export function identityOf(path: string): FileIdentity | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && { device: stats.dev, inode: stats.ino }
}

/** Throws if the file was removed, renamed or replaced. Omits the path, since `/health` shows the reason publicly. */
export function assertInPlace(path: string, opened: FileIdentity): void {
  const found = identityOf(path)
  if (found === undefined) throw new Error('the database file was removed or renamed while it was in use; put it back')
  if (found.device === opened.device && found.inode === opened.inode) return
  throw new Error(
    'the database file was replaced by another one while it was in use; put it back, or restart the server to use the other',
  )
}
