/** Reads everything that a store should have. Each result is a text, so that two can be compared. */
import { isHoldfastError } from '../../../src/core/model/errors.ts'
import type { Store } from '../../../src/core/ports/store.ts'

export interface Known {
  readonly runs: readonly string[]
  readonly documents: readonly { readonly owner: string; readonly id: string }[]
}

/** Responses by request; `damaged` or `missing` if there is none. */
export type Contents = ReadonlyMap<string, string>

export const DAMAGED = 'damaged'
export const MISSING = 'missing'

const READ_BYTES = 64 * 1024
const COLLECTION = 'notes'

export async function contentsOf(store: Store, { runs, documents }: Known): Promise<Contents> {
  const contents = new Map<string, string>()
  for (const owner of [undefined, 'anna', 'ben']) await addListing(contents, store, owner)
  for (const id of runs) {
    contents.set(`run ${id}`, await answerOf(async () => runText(await store.get(id))))
    contents.set(`log ${id}`, await answerOf(() => logOf(store, id)))
    const byKey = await answerOf(async () => runText((await store.findByKey(ownerOf(id), `key of ${id}`))?.stored))
    contents.set(`key ${id}`, byKey)
  }
  for (const { owner, id } of documents)
    contents.set(
      `document ${id}`,
      await answerOf(async () => JSON.stringify(await store.documents.get(owner, COLLECTION, id)) ?? MISSING),
    )
  for (const owner of ['anna', 'ben']) {
    const page = await store.documents.list({ owner, collection: COLLECTION, limit: 100 })
    for (const document of page.documents) contents.set(`listed document ${document.id}`, JSON.stringify(document))
  }
  return contents
}

export function ownerOf(id: string): string {
  return Number(id.split('_')[1]) % 2 === 0 ? 'anna' : 'ben'
}

/** In pages of seven: a damaged run must not end a listing. */
async function addListing(contents: Map<string, string>, store: Store, owner: string | undefined): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined;) {
    const page = await store.list({ limit: 7, ...(owner && { owner }), ...(after !== '' && { after }) })
    for (const stored of page.runs) contents.set(`run ${stored.run.id} listed for ${owner ?? 'all'}`, runText(stored))
    after = page.cursor
  }
}

function runText(stored: Awaited<ReturnType<Store['get']>>): string {
  if (stored === undefined) return MISSING
  return stored.damage === undefined ? JSON.stringify(stored) : DAMAGED
}

async function logOf(store: Store, id: string): Promise<string> {
  const pieces: Uint8Array[] = []
  for (let after = (await store.get(id))!.first - 1; ;) {
    const slice = await store.read(id, after, READ_BYTES)
    if (slice === undefined) return Buffer.concat(pieces).toString()
    pieces.push(slice.bytes)
    after += slice.count
  }
}

/** An error reports the damage and serves nothing. */
async function answerOf(ask: () => Promise<string>): Promise<string> {
  try {
    return await ask()
  } catch (cause) {
    if (isHoldfastError(cause, 'log_damaged')) return DAMAGED
    return isHoldfastError(cause, 'unavailable') || cause instanceof TypeError ? MISSING : Promise.reject(cause)
  }
}
