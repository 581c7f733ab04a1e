/** Positions in a listing of runs. A position is a value and not a count, so creating or removing runs does not shift pages. */
import { HoldfastError } from './errors.ts'
import type { Run } from './run.ts'

export type Position = Pick<Run, 'createdAt' | 'id'>

/** Whether `a` is listed before `b`: newest first. */
export function comesBefore(a: Position, b: Position): boolean {
  return a.createdAt > b.createdAt || (a.createdAt === b.createdAt && a.id > b.id)
}

/** Sorts before all run ids; appended to an id, sorts right after it. */
const LEAST_CHARACTER = '!'

/** The position that makes a listing start with this run. */
export function justBefore({ createdAt, id }: Position): Position {
  return { createdAt, id: `${id}${LEAST_CHARACTER}` }
}

/** The position that makes a listing start with the newest run created at this time. */
export function beginningOf(createdAt: string): Position {
  return { createdAt, id: LEAST_CHARACTER }
}

/** Of several positions, the one whose listing has the fewest runs. Undefined if there is none. */
export function oldestOf(positions: readonly Position[]): Position | undefined {
  return positions.toSorted((a, b) => (comesBefore(a, b) ? 1 : -1))[0]
}

/** Encodes a position in a listing as an opaque cursor. */
export function cursorOf({ createdAt, id }: Position): string {
  return `${createdAt}~${encodeURIComponent(id)}`
}

/** Decodes a page cursor. Throws `cursor_invalid` if it is malformed. */
export function positionOf(cursor: string): Position {
  const [createdAt = '', id = '', ...rest] = cursor.split('~')
  if (/^[\d:.TZ-]+$/.test(createdAt) && id !== '' && rest.length === 0) {
    try {
      return { createdAt, id: decodeURIComponent(id) }
    } catch {
      // Malformed; reported below.
    }
  }
  throw new HoldfastError(
    'cursor_invalid',
    `the page cursor ${JSON.stringify(cursor.slice(0, 100))} is invalid: pass the cursor of a previous page, or omit it`,
  )
}
