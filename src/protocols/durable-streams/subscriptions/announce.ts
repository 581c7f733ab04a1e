/** Announces a wake in the wake stream of a subscription, whose workers read it. At least once. */
import { isHoldfastError } from '../../../core/model/errors.ts'
import { principalOf } from '../../../core/model/principal.ts'
import { decideAppend } from '../requests/decide-append.ts'
import { streamKind } from '../view/stream-state.ts'
import { isJson } from '../wire/content.ts'
import { changeUnlessGone } from './deliver.ts'
import type { KnownSubscription } from './documents.ts'
import { isPending, type Tails, withFailure, withoutFailures } from './model.ts'
import { readTails } from './tails.ts'
import type { DeliveryParts } from './worker.ts'

export async function announceWake(parts: DeliveryParts, known: KnownSubscription, snapshot: Tails): Promise<void> {
  const { service, streams, clock, logger } = parts
  const { id, owner, state } = known
  const principal = principalOf(owner)
  const { wakeStream } = state.config
  const wake = state.wake!
  try {
    const tails = snapshot.size > 0 ? snapshot : await readTails(streams, principal, state.links.keys())
    const [pending] = Array.from(state.links).find(([name, link]) => isPending(link, tails.get(name))) ?? []
    const event = {
      type: 'wake',
      subscription_id: id,
      stream: pending ?? null,
      generation: state.generation,
      ts: clock.now(),
    }
    const { stored, config } = await streams.get(principal, wakeStream!)
    if (!isJson(config.contentType)) throw new Error('the wake stream is not of type application/json')
    const content = { json: [JSON.stringify(event)] }
    await service.clientLogs.append(principal, stored.run.id, streamKind, {
      bytes: content.json[0]!.length,
      decide: (at, next) => decideAppend({ content, hasType: true, closes: false }, at, next),
    })
    await changeUnlessGone(service, owner, id, (current) =>
      current.wake?.id === wake.id
        ? { ...withoutFailures(current), wake: { ...current.wake, announced: true } }
        : current,
    )
  } catch (cause) {
    if (isHoldfastError(cause, 'unavailable')) throw cause // the store: the next look tries again
    logger.warn({ subscription: id, err: cause }, 'a wake cannot be announced in its wake stream; it will be retried')
    await changeUnlessGone(service, owner, id, (current) => withFailure(current, clock.now()))
  }
}
