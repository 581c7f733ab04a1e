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
