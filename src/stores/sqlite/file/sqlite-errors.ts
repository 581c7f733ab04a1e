/** Classifies SQLite errors. */
import { detailOf } from '../../../core/model/errors.ts'

const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11
const SQLITE_CONSTRAINT = 19
const SQLITE_NOTADB = 26

/** Advice for a file that cannot be used. */
export const DAMAGE_ADVICE = 'restore it from a backup, or move it away to start with an empty store'

/** Another connection holds a required lock. */
export function isBusy(cause: unknown): boolean {
  return codeOf(cause) === SQLITE_BUSY
}

/** A constraint failed; the transaction may continue without the statement. */
export function isConstraintViolation(cause: unknown): boolean {
  return codeOf(cause) === SQLITE_CONSTRAINT
}

/** The database is corrupt where a statement looked; other parts may be intact. */
export function isCorrupt(cause: unknown): boolean {
  return codeOf(cause) === SQLITE_CORRUPT
}

export function damagedFileError(path: string, how: string, cause?: unknown): Error {
  return new Error(`${path} is damaged: ${how}; ${DAMAGE_ADVICE}`, { cause })
}

/** If the file is damaged, an error with its name and what to do; otherwise the cause. */
export function damageOr(path: string, cause: unknown): unknown {
  const code = codeOf(cause)
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB ? damagedFileError(path, detailOf(cause), cause) : cause
}

/** SQLite's primary result code. */
function codeOf(cause: unknown): number {
  return ((cause as { errcode?: number }).errcode ?? 0) & 0xff
}
