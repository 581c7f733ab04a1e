/** Deletes all data of a principal, from a process that executes no runs. */
import { systemClock, systemIds } from '../../core/ports/clock.ts'
import { forgetOwner, type ForgetReport, type ForgetRequest } from '../../core/access/forget.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import { Registry } from '../../core/registry.ts'
import { Service } from '../../core/service.ts'
import type { Store } from '../../core/ports/store.ts'
import { workIdentity } from '../work-identity.ts'

export function forgetPrincipal(
  store: Store,
  owner: string,
  request: ForgetRequest,
  removeCredentials: () => Promise<void> = () => Promise.resolve(),
): Promise<ForgetReport> {
  const whileStopping = (wait: () => Promise<void>): Promise<void> => whileRunsEnd(store, wait)
  return forgetOwner({ store, clock: systemClock, owner, removeCredentials, whileStopping }, request)
}

/** The node that executes a run stops it; this process ends runs that no node executes. */
async function whileRunsEnd(store: Store, wait: () => Promise<void>): Promise<void> {
  const service = new Service({
    store,
    registry: new Registry([]),
    clock: systemClock,
    ids: systemIds(),
    logger: silentLogger,
    limits: { maxConcurrentRuns: 0, drainTimeoutMs: 0 },
    ...workIdentity(store),
  })
  service.startScheduling()
  try {
    await wait()
  } finally {
    await service.drain()
  }
}
