/** Reads from the monitoring endpoint when a server syncs its files to disk. */
import { HoldfastError, detailOf } from '../../../core/model/errors.ts'

/** When a NATS server syncs its files to disk. */
export interface SyncPolicy {
  /** Synced before a message is acknowledged. */
  readonly always: boolean
  /** Otherwise the sync interval; undefined if the server does not report it. */
  readonly everyMs?: number
}

const REQUEST_TIMEOUT_MS = 5000

export async function syncPolicyAt(monitor: string): Promise<SyncPolicy> {
  const address = `${monitor.replace(/\/+$/, '')}/jsz`
  let body: { config?: { sync_always?: boolean; sync_interval?: number } }
  try {
    body = (await (await fetch(address, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })).json()) as typeof body
  } catch (cause) {
    throw new HoldfastError('unsupported', `${address} does not report when files are synced: ${detailOf(cause)}`, {
      cause,
    })
  }
  const { sync_always: always = false, sync_interval: nanoseconds } = body.config ?? {}
  return { always, ...(nanoseconds !== undefined && { everyMs: nanoseconds / 1e6 }) }
}

/** Throws unless files are synced before a message is acknowledged. */
export async function expectSyncAlways(monitor: string): Promise<void> {
  const { always } = await syncPolicyAt(monitor)
  if (!always)
    throw new HoldfastError(
      'unsupported',
      `sync=always is required, but the server at ${monitor} does not report it: set jetstream { sync_interval: always }`,
    )
}
