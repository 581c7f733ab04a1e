/** Offsets and cursors. An offset is the index of the next record, so it is a cursor on the log. */
import { streamError } from './errors.ts'

const DIGITS = 16
/** Reserved: a position within a record. */
const WITHIN = '0'.repeat(DIGITS)
const OFFSET = /^(\d{16})_(\d{16})$/

/** `next`: index of the next record. */
export function toOffset(next: number): string {
  return `${String(next).padStart(DIGITS, '0')}_${WITHIN}`
}

/** Index of the next record. */
export function parseOffset(text: string): number {
  const [, next, within] = OFFSET.exec(text) ?? []
  if (next === undefined || within !== WITHIN || !Number.isSafeInteger(Number(next)))
    throw streamError('cursor_invalid', `${JSON.stringify(text.slice(0, 100))} is not an offset of this server`)
  return Number(next)
}

const EPOCH_MS = Date.UTC(2024, 9, 9)
const INTERVAL_MS = 20_000
const JITTER_MAX = 180

/** Caches collapse live requests of one interval. The cursor always moves on, otherwise a cache would respond forever. */
export function nextCursor(now: number, known: string | null): string {
  const current = Math.floor((now - EPOCH_MS) / INTERVAL_MS)
  const had = known !== null && /^\d{1,15}$/.test(known) ? Number(known) : -1
  return String(had < current ? current : had + 1 + Math.floor(Math.random() * JITTER_MAX))
}
