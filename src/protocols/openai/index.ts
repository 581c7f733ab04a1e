/** The OpenAI protocol: chat completions, responses, conversations and models. */
import type { Ids } from '../../core/ports/clock.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { Service } from '../../core/service.ts'
import type { Protocol } from '../../http/routing/route.ts'
import { SocketServer } from '../../http/socket/server.ts'
import type { Streams } from '../../http/response/stream.ts'
import { completionRoutes } from './chat/routes.ts'
import { conversationRoutes } from './conversations/routes.ts'
import { toErrorResponse } from './wire/errors.ts'
import { modelRoutes } from './models.ts'
import { responseRoutes } from './responses/routes.ts'
import { responsesUpgrade } from './socket/upgrade.ts'

export interface OpenAiParts {
  readonly service: Service
  readonly streams: Streams
  readonly ids: Ids
  readonly logger: Logger
}

export function openaiProtocol({ service, streams, ids, logger }: OpenAiParts): Protocol {
  const sockets = new SocketServer(service.limits.maxBodyBytes)
  return {
    name: 'openai',
    routes: [
      ...modelRoutes(service),
      ...completionRoutes(service, streams),
      ...responseRoutes(service, streams, ids),
      ...conversationRoutes(service, ids),
    ],
    upgrades: [responsesUpgrade(service, sockets, logger)],
    close: (reason) => sockets.close(reason),
    error: toErrorResponse,
  }
}
