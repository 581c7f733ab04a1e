/** What the routes and the worker of Durable Streams subscriptions share on a node. */
import type { Clock } from '../../core/ports/clock.ts'
import type { SecretBox } from '../../core/ports/secret-box.ts'
import type { Store } from '../../core/ports/store.ts'
import { Deadlines } from '../../protocols/durable-streams/subscriptions/deadlines.ts'
import type { SubscriptionKeys } from '../../protocols/durable-streams/subscriptions/keys.ts'
import { WakeQueue } from '../../protocols/durable-streams/subscriptions/wake-queue.ts'
import type { StreamWebhooks } from '../engine-options.ts'
import { storeSecret } from '../secrets/store-secret.ts'

export interface OpenSubscriptions {
  readonly queue: WakeQueue
  readonly deadlines: Deadlines
  readonly keys: () => Promise<SubscriptionKeys>
  readonly webhooks: false | { readonly loopback: boolean }
}

export function openSubscriptions(
  store: Store,
  clock: Clock,
  secrets?: SecretBox,
  webhooks: StreamWebhooks = false,
): OpenSubscriptions {
  const secret = storeSecret(store, 'durable-stream-subscriptions', secrets)
  let derived: Promise<SubscriptionKeys> | undefined
  return {
    queue: new WakeQueue(),
    deadlines: new Deadlines(clock),
    keys() {
      derived ??= import('../../protocols/durable-streams/subscriptions/keys.ts')
        .then(async ({ subscriptionKeys }) => subscriptionKeys(await secret()))
        .catch((cause: unknown) => {
          derived = undefined // the next caller retries
          throw cause
        })
      return derived
    },
    webhooks: webhooks === false ? false : { loopback: webhooks !== true && webhooks.loopback === true },
  }
}
