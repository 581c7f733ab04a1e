/** Delivers a wake by webhook. */
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Service } from '../../../core/service.ts'
import { parseJsonOrText } from '../../../http/request/json.ts'
import { post } from '../../../http/webhooks/post.ts'
import { changeSubscription, type KnownSubscription } from './documents.ts'
import {
  linksWithTails,
  type Subscription,
  type Tails,
  withFailure,
  withoutFailures,
  withoutWake,
  withWakeAcked,
} from './model.ts'
import type { DeliveryParts } from './worker.ts'

const TIMEOUT_MS = 15_000

/** A refused wake ends, and the next one is due later. An accepted one ends with `done`, a callback, or its lease. */
export async function deliverWake(parts: DeliveryParts, known: KnownSubscription, tails: Tails): Promise<void> {
  const { clock, keys, webhooks, lookup, signal, service, logger } = parts
  const { id, owner, state } = known
  const { config, generation } = state
  const wake = state.wake!
  const signer = await keys()
  const body = JSON.stringify({
    subscription_id: id,
    wake_id: wake.id,
    generation,
    streams: linksWithTails(state, tails),
    callback_url: `${state.url}/__ds/subscriptions/${encodeURIComponent(id)}/callback`,
    callback_token: signer.token({ owner, subscription: id, generation }),
  })
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'holdfast',
    'webhook-signature': signer.sign(body, clock.now()),
  }
  try {
    if (webhooks === false) throw new Error('this server does not send webhooks')
    const response = await post(
      { url: config.webhook!.url, headers, body },
      { loopback: webhooks.loopback, lookup, signal, timeoutMs: Math.min(TIMEOUT_MS, config.leaseTtlMs) },
    )
    const isDone = (parseJsonOrText(response) as { done?: unknown } | null)?.done === true
    await changeUnlessGone(service, owner, id, (current) => {
      if (current.wake?.id !== wake.id) return current // called back, or expired
      const succeeded = current.failures === undefined ? current : withoutFailures(current)
      return isDone ? withoutWake(withWakeAcked(succeeded)) : succeeded
    })
  } catch (cause) {
    if (signal.aborted) return // the lease expires
    logger.warn({ subscription: id, err: cause }, 'a webhook was not accepted; it will be retried')
    await changeUnlessGone(service, owner, id, (current) =>
      withFailure(current.wake?.id === wake.id ? withoutWake(current) : current, clock.now()),
    )
  }
}

/** Does nothing if the subscription was deleted meanwhile. */
export async function changeUnlessGone(
  service: Service,
  owner: string,
  id: string,
  change: (state: Subscription) => Subscription,
): Promise<void> {
  try {
    await changeSubscription(service, owner, id, ({ state }) => change(state))
  } catch (cause) {
    if (!isHoldfastError(cause, 'not_found')) throw cause
  }
}
