/** How a node tells recorded work apart: keyed digests of inputs, and which work encloses the code that is running. */
import type { Digests } from '../core/parts.ts'
import type { AsyncLocal, Enclosure } from '../core/enclosure.ts'
import type { Execution } from '../core/execution.ts'
import type { Store } from '../core/store.ts'
import { executionStorage } from './uncaught-errors.ts'

/** The parts of a node that only Node.js can give. */
export function workIdentity(store: Store): {
  readonly digests: Digests
  readonly enclosures: AsyncLocal<Enclosure>
  readonly executions: AsyncLocal<Execution>
} {
  const { AsyncLocalStorage } = process.getBuiltinModule('node:async_hooks')
  return {
    digests: storeDigests(store),
    enclosures: new AsyncLocalStorage<Enclosure>(),
    executions: executionStorage(),
  }
}

/**
 * HMAC-SHA-256 with a key that the store keeps beside the runs: every node has the same, a copied store takes it along, and a
 * log alone cannot be searched for the inputs behind its digests.
 */
function storeDigests(store: Store): Digests {
  const { createHmac } = process.getBuiltinModule('node:crypto')
  let opened: Promise<string> | undefined
  const key = (): Promise<string> => {
    opened ??= openKey(store).catch((cause: unknown) => {
      opened = undefined // the next run asks again
      throw cause
    })
    return opened
  }
  return {
    async of(run) {
      const secret = await key()
      // 132 of its 256 bits: more than enough that no two inputs of one run meet.
      return (text) => createHmac('sha256', secret).update(`${run}\n`).update(text).digest('base64url').slice(0, 22)
    },
  }
}

/** No principal has an owner key with a bare percent sign, so nobody can read it. */
const OWNER = '%holdfast'
const COLLECTION = 'secret'
const ID = 'work-digest'

async function openKey({ documents }: Store): Promise<string> {
  const known = await documents.get(OWNER, COLLECTION, ID)
  if (known !== undefined) return keyIn(known.body)
  const key = process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url')
  const made = await documents.put({ owner: OWNER, collection: COLLECTION, id: ID, body: { key } }, 0)
  if (made !== undefined) return key
  const others = await documents.get(OWNER, COLLECTION, ID) // another node was faster
  return keyIn(others?.body)
}

function keyIn(body: unknown): string {
  const { key } = (body ?? {}) as { key?: unknown }
  if (typeof key === 'string' && key !== '') return key
  throw new Error('the key for digests of recorded work in the store is damaged')
}
