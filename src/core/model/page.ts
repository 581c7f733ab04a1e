/** Positions in a listing of runs. A position is a value and not a count, so creating or removing runs does not shift it. */
import { HoldfastError } from './errors.ts'
import type { Run } from './run.ts'

export type Position = Pick<Run, 'createdAt' | 'id'>

/** Newest first. */
export function comesBefore(a: Position, b: Position): boolean {
  return a.createdAt > b.createdAt || (a.createdAt === b.createdAt && a.id > b.id)
}

/** Encodes a position in a listing as an opaque cursor. */
export function cursorOf({ createdAt, id }: Position): string {
  return `${createdAt}~${encodeURIComponent(id)}`
}

/** Decodes a cursor. Throws `invalid_input` for anything else. */
export function positionOf(cursor: string): Position {
  const [createdAt = '', id = '', ...rest] = cursor.split('~')
  if (/^[\d:.TZ-]+$/.test(createdAt) && id !== '' && rest.length === 0) {
    try {
      return { createdAt, id: decodeURIComponent(id) }
    } catch {
      // Not a cursor of ours; said below.
    }
  }
  throw new HoldfastError('cursor_invalid', `${JSON.stringify(cursor.slice(0, 100))} is not the cursor of a page`)
}
