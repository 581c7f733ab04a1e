/** The OpenAI protocol: chat completions, responses, conversations and models. */
import type { Ids } from '../../core/ports/clock.ts'
import type { Service } from '../../core/service.ts'
import type { Protocol } from '../../http/route.ts'
import type { Streams } from '../../http/stream.ts'
import { chatRoutes } from './chat/routes.ts'
import { conversationRoutes } from './conversations/routes.ts'
import { toErrorResponse } from './wire/errors.ts'
import { modelRoutes } from './models.ts'
import { responseRoutes } from './responses/routes.ts'

export function openaiProtocol(service: Service, streams: Streams, ids: Ids): Protocol {
  return {
    name: 'openai',
    routes: [
      ...modelRoutes(service),
      ...chatRoutes(service, streams),
      ...responseRoutes(service, streams),
      ...conversationRoutes(service, ids),
    ],
    error: toErrorResponse,
  }
}
