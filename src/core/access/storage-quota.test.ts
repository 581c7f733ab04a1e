/** Storage quotas: how soon a node counts bytes written by executing runs or by another node. */
import { expect, test } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { defaultLimits } from '../model/limits.ts'
import { StorageQuota } from './storage-quota.ts'

const MAX = 100_000

/** A quota, and a way to store bytes past it. */
function open() {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock })
  const quota = new StorageQuota({ ...defaultLimits, maxStoredBytesPerPrincipal: MAX }, store.usage, clock)
  const grow = (id: string, bytes: number): Promise<unknown> =>
    store.documents.put({ owner: 'anna', collection: 'c', id, body: 'x'.repeat(bytes) })
  return { clock, quota, grow }
}

test('[SEC-2] storage quota: a principal near its quota is measured again after a second', async () => {
  const { clock, quota, grow } = open()
  await grow('before', MAX * 0.92)
  await quota.admitRun('anna', 0)
  await grow('meanwhile', MAX)
  clock.advance(1001)
  await expect(quota.admitRun('anna', 0)).rejects.toMatchObject({ code: 'quota_exceeded' })
})

test('[SEC-2] storage quota: a principal far from its quota is measured again after ten seconds', async () => {
  const { clock, quota, grow } = open()
  await grow('before', MAX * 0.5)
  await quota.admitRun('anna', 0)
  await grow('meanwhile', MAX)
  clock.advance(1001)
  await quota.admitRun('anna', 0)
  clock.advance(9000)
  await expect(quota.admitRun('anna', 0)).rejects.toMatchObject({ code: 'quota_exceeded' })
})

test('[SEC-2] storage quota: a start counts at once, before the store is measured again', async () => {
  const { quota } = open()
  await quota.admitRun('anna', MAX)
  await expect(quota.admitRun('anna', 0)).rejects.toMatchObject({ code: 'quota_exceeded' })
  await quota.admitRun('bert', 0)
})
