/** The protocol of the AI SDK's user interfaces: `useChat` and its transports. */
import type { Clock } from '../../core/ports/clock.ts'
import type { Service } from '../../core/service.ts'
import type { Protocol } from '../../http/route.ts'
import type { Streams } from '../../http/stream.ts'
import { Chats } from './requests/chats.ts'
import { chatRoutes } from './routes/chat.ts'
import { toErrorText } from './wire/errors.ts'

export interface AiSdkParts {
  readonly service: Service
  readonly streams: Streams
  readonly clock?: Clock | undefined
}

export function aiSdkProtocol({ service, streams, clock }: AiSdkParts): Protocol {
  return { name: 'ai-sdk', routes: chatRoutes(new Chats(service, clock), streams), error: toErrorText }
}
