/** When servers write their files to the disk for good, which only their monitoring address tells. */
import { HoldfastError, detailOf } from '../../core/model/errors.ts'

export interface SyncPolicy {
  /** Before a message is acknowledged. */
  readonly always: boolean
  /** Else this often; undefined where the server does not say. */
  readonly everyMs?: number
}

const ASK_MS = 5000

export async function syncPolicyAt(monitor: string): Promise<SyncPolicy> {
  const address = `${monitor.replace(/\/+$/, '')}/jsz`
  let body: { config?: { sync_always?: boolean; sync_interval?: number } }
  try {
    body = (await (await fetch(address, { signal: AbortSignal.timeout(ASK_MS) })).json()) as typeof body
  } catch (cause) {
    throw new HoldfastError('unsupported', `${address} does not tell when files are synced: ${detailOf(cause)}`, {
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
      `sync=always was asked for, and the server at ${monitor} does not say that it does: set jetstream { sync_interval: always }`,
    )
}
