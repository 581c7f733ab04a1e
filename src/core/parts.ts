/** What the parts of one node have in common. */
import type { Clock, Ids } from './clock.ts'
import type { Limits } from './limits.ts'
import type { Logger } from './logger.ts'
import type { Registry } from './registry.ts'
import type { Store } from './store.ts'

export interface NodeParts {
  readonly store: Store
  readonly registry: Registry
  readonly limits: Limits
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
}
