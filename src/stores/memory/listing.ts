/** What a listing shows and in which order, and the cursors of its pages. */
import { HoldfastError } from '../../core/errors.ts'
import type { Run } from '../../core/run.ts'
import type { RunQuery } from '../../core/store.ts'

export function matches(run: Run, { owner, component, session, status }: RunQuery): boolean {
  return (
    (owner === undefined || run.owner === owner) &&
    (component === undefined || run.component === component) &&
    (session === undefined || run.session === session) &&
    (status === undefined || status.includes(run.status))
  )
}

/** A place in the listing. It is a value and not a count, so no run that is created or removed can move it. */
type Position = Pick<Run, 'createdAt' | 'id'>

/** Newest first. */
export function comesBefore(a: Position, b: Position): boolean {
  return a.createdAt > b.createdAt || (a.createdAt === b.createdAt && a.id > b.id)
}

export function cursorOf({ createdAt, id }: Position): string {
  return Buffer.from(JSON.stringify([createdAt, id])).toString('base64url')
}

export function positionOf(cursor: string): Position {
  try {
    const [createdAt, id, ...rest] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (typeof createdAt === 'string' && typeof id === 'string' && rest.length === 0) return { createdAt, id }
  } catch {
    // Not a cursor of ours; said below.
  }
  throw new HoldfastError('cursor_invalid', 'the cursor of the listing is not one that a page gave')
}
