/** Durable Streams: every run's log as a readable stream, and streams that clients write. */
import type { Protocol } from '../../http/routing/route.ts'
import { streamRoutes, type StreamParts } from './routes/streams.ts'
import { toErrorResponse } from './wire/errors.ts'

export function durableStreamsProtocol(parts: StreamParts): Protocol {
  return { name: 'durable-streams', routes: streamRoutes(parts), error: toErrorResponse }
}
