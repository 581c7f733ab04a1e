/** The Model Context Protocol: every component is a tool, and a call that outlives its connection is a task. */
import type { Protocol } from '../../http/routing/route.ts'
import { type Endpoint, endpointRoutes } from './routes/endpoint.ts'
import { toErrorResponse } from './wire/errors.ts'

export function mcpProtocol(endpoint: Endpoint): Protocol {
  return { name: 'mcp', routes: endpointRoutes(endpoint), error: toErrorResponse }
}
