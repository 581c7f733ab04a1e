/**
 * Secrets kept in the store: shared by all nodes, included in copies of the store, and encrypted if the server has a secret key.
 */
import type { SecretBox } from '../../core/ports/secret-box.ts'
import type { Store } from '../../core/ports/store.ts'

/** No principal's owner key contains a bare percent sign, so no principal can read it. */
const OWNER = '%holdfast'
const COLLECTION = 'secret'

/** Loaded lazily. A failure is not cached, so the next caller retries. */
export function storeSecret(store: Store, id: string, box?: SecretBox): () => Promise<string> {
  let opened: Promise<string> | undefined
  return () => {
    opened ??= openSecret(store, id, box).catch((cause: unknown) => {
      opened = undefined
      throw cause
    })
    return opened
  }
}

async function openSecret({ documents }: Store, id: string, box: SecretBox | undefined): Promise<string> {
  const known = await documents.get(OWNER, COLLECTION, id)
  if (known !== undefined) return secretIn(known.body, id, box)
  const key = process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url')
  const body = box === undefined ? { key } : { sealed: box.seal(key, contextOf(id)) }
  const created = await documents.put({ owner: OWNER, collection: COLLECTION, id, body }, 0)
  if (created !== undefined) return key
  const others = await documents.get(OWNER, COLLECTION, id) // another node was faster
  return secretIn(others?.body, id, box)
}

function secretIn(body: unknown, id: string, box: SecretBox | undefined): string {
  const { key, sealed } = (body ?? {}) as { key?: unknown; sealed?: unknown }
  if (typeof sealed === 'string') {
    if (box === undefined) throw new Error(`the secret ${id} in the store is encrypted: set --secret-key`)
    return box.open(sealed, contextOf(id))
  }
  if (typeof key === 'string' && key !== '') return key
  throw new Error(`the secret ${id} in the store is corrupt`)
}

function contextOf(id: string): string {
  return `store secret ${id}`
}
