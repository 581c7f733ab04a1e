/**
 * How long a leader keeps its lock after the end. Broadcasts and locks are delivered separately: without the delay, another tab could
 * get the lock before it hears of the end, and would connect.
 */
export const LINGER_MS = 1000

/** Web locks of this page's origin; undefined outside of pages. Node has locks and channels too, but no tabs. */
export function tabLocks(): LockManager | undefined {
  const { locks } = globalThis.navigator ?? {}
  return globalThis.location === undefined || typeof BroadcastChannel === 'undefined' ? undefined : locks
}

/** Sandboxed frames, and pages without storage access, have locks that reject every request. */
export function canLock(locks: LockManager, name: string): Promise<boolean> {
  return Promise.resolve()
    .then(() => locks.request(`${name}:probe`, { mode: 'shared' }, () => true))
    .catch(() => false)
}
