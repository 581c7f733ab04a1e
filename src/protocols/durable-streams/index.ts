/** Durable Streams: every run's log as a readable stream, streams that clients write, and subscriptions to these. */
import type { Protocol } from '../../http/routing/route.ts'
import { type StreamParts, streamRoutes } from './routes/streams.ts'
import { type SubscriptionRouteParts, subscriptionRoutes } from './routes/subscriptions.ts'
import { toErrorResponse } from './wire/errors.ts'

export function durableStreamsProtocol(parts: StreamParts & SubscriptionRouteParts): Protocol {
  return {
    name: 'durable-streams',
    routes: [...subscriptionRoutes(parts), ...streamRoutes(parts)],
    error: toErrorResponse,
  }
}
