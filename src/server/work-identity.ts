/** Identifies recorded work: keyed digests of inputs, and the work that encloses the executing code. */
import type { Digests } from '../core/node-deps.ts'
import type { AsyncLocal, Enclosure } from '../core/recovery/enclosure.ts'
import type { ExecutionTrace } from '../core/ports/execution-trace.ts'
import type { Store } from '../core/ports/store.ts'
import { storeSecret } from './secrets/store-secret.ts'
import { executionStorage } from './uncaught-errors.ts'

/** Node.js-specific dependencies. */
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
 * HMAC-SHA-256 with a key kept in the store: shared by all nodes and included in copies of the store. A log alone does not allow
 * guessing the inputs behind its digests.
 */
function storeDigests(store: Store): Digests {
  const { createHmac } = process.getBuiltinModule('node:crypto')
  const key = storeSecret(store, 'work-digest')
  return {
    async of(run) {
      const secret = await key()
      // 132 of the 256 bits are enough to avoid collisions within one run.
      return (text) => createHmac('sha256', secret).update(`${run}\n`).update(text).digest('base64url').slice(0, 22)
    },
  }
}
