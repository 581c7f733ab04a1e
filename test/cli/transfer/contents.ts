/** The whole content of a store, as a value that can be compared. */
import { lastOf } from '../../../src/core/model/slice.ts'
import type { Store } from '../../../src/core/ports/store.ts'

const ALL = 100_000

export interface Contents {
  readonly runs: readonly unknown[]
  readonly documents: readonly unknown[]
}

export async function contentsOf(store: Store): Promise<Contents> {
  const runs: unknown[] = []
  for (const { stored, idempotency } of await store.transfer.runs(ALL)) {
    const { lease: _, ...head } = stored
    runs.push({ ...head, idempotency, log: await logOf(store, stored.run.id, stored.first) })
  }
  const documents = (await store.transfer.documents(ALL)).toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  return { runs, documents }
}

async function logOf(store: Store, id: string, first: number): Promise<string> {
  const pieces: Uint8Array[] = []
  for (let after = first - 1; ;) {
    const slice = await store.read(id, after, 1_000_000)
    if (slice === undefined) return Buffer.concat(pieces).toString()
    pieces.push(slice.bytes)
    after = lastOf(slice)
  }
}

function nameOf({ owner, collection, id }: { owner: string; collection: string; id: string }): string {
  return JSON.stringify([collection, owner, id])
}
