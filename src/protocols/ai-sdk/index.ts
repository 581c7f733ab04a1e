/** The protocol of the AI SDK's user interfaces: `useChat` and its transports. */
import type { Clock } from '../../core/ports/clock.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { Service } from '../../core/service.ts'
import type { Protocol } from '../../http/routing/route.ts'
import { SocketServer } from '../../http/socket/server.ts'
import type { Streams } from '../../http/response/stream.ts'
import { ChatService } from './requests/chats.ts'
import { CHAT_PATH, chatRoutes } from './routes/chat.ts'
import { chatUpgrade } from './socket/upgrade.ts'
import { toErrorText } from './wire/errors.ts'

export interface AiSdkParts {
  readonly service: Service
  readonly streams: Streams
  readonly logger: Logger
  readonly clock?: Clock | undefined
}

export function aiSdkProtocol({ service, streams, logger, clock }: AiSdkParts): Protocol {
  const chats = new ChatService(service, clock)
  const sockets = new SocketServer(service.limits.maxBodyBytes)
  return {
    name: 'ai-sdk',
    routes: chatRoutes(chats, streams),
    upgrades: [chatUpgrade(chats, sockets, logger, CHAT_PATH)],
    close: (reason) => sockets.close(reason),
    error: toErrorText,
  }
}
