/** Streams as runs: the newest run of a session is its stream. Of concurrent starts with one key, the first succeeds. */
import { createHash } from 'node:crypto'
import { ApiError } from '../client/errors.ts'
import type { RunInfo } from '../client/types.ts'
import type { Holdfast } from './holdfast.ts'

export async function newestRun(
  runs: Holdfast['runs'],
  component: string,
  session: string,
): Promise<RunInfo | undefined> {
  return (await runs.list({ component, session, limit: 1 })).runs[0]
}

/** An idempotency key is sent in a header, so it cannot be the name itself. */
export function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex')
}

/** Id of the run that another call started with the same key. */
export function startedByAnother(cause: unknown): string | undefined {
  if (!(cause instanceof ApiError) || cause.code !== 'idempotency_conflict') return undefined
  return (cause.details as { readonly run: string }).run
}
