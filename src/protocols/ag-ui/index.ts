/** AG-UI 1.0: the protocol between agents and front ends such as CopilotKit. */
import type { Service } from '../../core/service.ts'
import type { Protocol } from '../../http/routing/route.ts'
import type { Streams } from '../../http/response/stream.ts'
import { Threads } from './requests/threads.ts'
import { agentRoutes } from './routes/agent.ts'
import { toErrorResponse } from './wire/errors.ts'

export function agUiProtocol(service: Service, streams: Streams): Protocol {
  return { name: 'ag-ui', routes: agentRoutes(new Threads(service), streams), error: toErrorResponse }
}
