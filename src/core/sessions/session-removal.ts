/** Removes a session: stops its runs, waits for them, removes them, and then removes its document. */
import { SESSIONS } from '../model/document.ts'
import { HoldfastError, isHoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { isFinished } from '../model/run.ts'
import type { StopRequest, Store } from '../ports/store.ts'

export interface SessionRemoval {
  readonly store: Store
  readonly limits: Limits
  readonly owner: string
  readonly session: string
  readonly stop: StopRequest
  /** Resolves with true when a run's log has a record after an index, with false at the timeout or abort. */
  readonly waitForMore: (id: string, after: number, timeoutMs: number, signal: AbortSignal) => Promise<boolean>
}

/**
 * Removes the document last: after an interruption the session is still listed and can be removed again. Repeats until there is
 * neither a run nor a document, because a run may have started meanwhile.
 */
export async function removeSession(removal: SessionRemoval): Promise<void> {
  const { store, limits, owner, session } = removal
  // Time within which a stop is carried out, even if the agent ignores it or its worker has died.
  const patienceMs = limits.stopGraceMs + limits.leaseMs + limits.pollIntervalMs
  const over = AbortSignal.timeout(patienceMs)
  for (let found = false; ; found = true) {
    const { runs } = await store.list({ owner, session, limit: limits.maxPageRuns })
    if (runs.length === 0) {
      if (await store.documents.remove(owner, SESSIONS, session)) continue
      if (found) return
      throw new HoldfastError('not_found', `session ${session.slice(0, 100)} not found`)
    }
    if (over.aborted) throw new HoldfastError('conflict', `session ${session} still has runs: remove it again`)
    const ids = runs.map(({ run }) => run.id)
    // Stops all of them before waiting for the first: the end of one would let the next of its lane start.
    await Promise.all(ids.map((id) => store.requestStop(id, removal.stop)))
    for (const id of ids) if (!(await untilEnded(removal, id, patienceMs, over))) throw notEnded(session, id)
    await Promise.all(ids.map((id) => store.remove(id)))
  }
}

/** Waits for the end of a run. Resolves with false at the timeout. */
async function untilEnded(removal: SessionRemoval, id: string, timeoutMs: number, over: AbortSignal): Promise<boolean> {
  try {
    for (;;) {
      const stored = await removal.store.get(id)
      if (stored === undefined || isFinished(stored.run.status)) return true
      if (!(await removal.waitForMore(id, stored.next - 1, timeoutMs, over))) return false
    }
  } catch (cause) {
    if (isHoldfastError(cause, 'not_found')) return true // removed by somebody else
    throw cause
  }
}

function notEnded(session: string, id: string): HoldfastError {
  return new HoldfastError(
    'conflict',
    `session ${session} cannot be removed yet: its run ${id} is stopping. Try again later`,
    {
      details: { run: id },
    },
  )
}
