/** Durable Streams: the log of every run as a stream to read, and streams that clients write themselves. */
import type { Protocol } from '../../http/routing/route.ts'
import { streamRoutes, type StreamParts } from './routes/streams.ts'
import { toErrorResponse } from './wire/errors.ts'

export function durableStreamsProtocol(parts: StreamParts): Protocol {
  return { name: 'durable-streams', routes: streamRoutes(parts), error: toErrorResponse }
}
