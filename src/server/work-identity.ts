/** How a node tells recorded work apart: keyed digests of inputs, and which work encloses the code that is running. */
import type { Digests } from '../core/ports/node-deps.ts'
import type { AsyncLocal, Enclosure } from '../core/recovery/enclosure.ts'
import type { ExecutionTrace } from '../core/ports/execution-trace.ts'
import type { Store } from '../core/ports/store.ts'
import { storeSecret } from './store-secret.ts'
import { executionStorage } from './uncaught-errors.ts'

/** The parts of a node that only Node.js can give. */
export function workIdentity(store: Store): {
  readonly digests: Digests
  readonly enclosures: AsyncLocal<Enclosure>
  readonly executions: AsyncLocal<ExecutionTrace>
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
  const key = storeSecret(store, 'work-digest')
  return {
    async of(run) {
      const secret = await key()
      // 132 of its 256 bits: more than enough that no two inputs of one run meet.
      return (text) => createHmac('sha256', secret).update(`${run}\n`).update(text).digest('base64url').slice(0, 22)
    },
  }
}
