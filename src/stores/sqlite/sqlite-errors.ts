/** What SQLite's errors mean. */
import { detailOf } from '../../core/model/errors.ts'

const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11
const SQLITE_CONSTRAINT = 19
const SQLITE_NOTADB = 26

/** What to do about a file that cannot be used. */
export const DAMAGE_ADVICE = 'restore it from a backup, or move it away to start with an empty store'

/** Another connection holds a lock that this one needs. */
export function isBusy(cause: unknown): boolean {
  return codeOf(cause) === SQLITE_BUSY
}

/** What a statement would write contradicts what is there; the transaction may go on without it. */
export function isConstraintViolation(cause: unknown): boolean {
  return codeOf(cause) === SQLITE_CONSTRAINT
}

/** The database contradicts itself where a statement looked; other parts of it may be sound. */
export function isCorrupt(cause: unknown): boolean {
  return codeOf(cause) === SQLITE_CORRUPT
}

export function damaged(path: string, how: string, cause?: unknown): Error {
  return new Error(`${path} is damaged: ${how}; ${DAMAGE_ADVICE}`, { cause })
}

/** What went wrong with a file; where it is the file, by its name and with what to do. */
export function damageOr(path: string, cause: unknown): unknown {
  const code = codeOf(cause)
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB ? damaged(path, detailOf(cause), cause) : cause
}

/** SQLite's primary result code. */
function codeOf(cause: unknown): number {
  return ((cause as { errcode?: number }).errcode ?? 0) & 0xff
}
