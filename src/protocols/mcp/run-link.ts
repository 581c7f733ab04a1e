/** Links to a run in MCP. */
import type { StoredRun } from '../../core/ports/store.ts'
import type { Service } from '../../core/service.ts'
import type { RunLink } from '../../http/run-link.ts'
import { callKind } from './view/projection.ts'
import { toStreamToken } from './wire/tokens.ts'

export function mcpLink(service: Service, stored: StoredRun): RunLink {
  const { run } = stored
  const path = '/mcp'
  const token = toStreamToken({ run: run.id, request: run.id, progress: run.id, supportsElicitation: false })
  return {
    id: run.id,
    session: run.session,
    path,
    resume: (frame = -1) => ({ path, headers: { 'last-event-id': `${token}.${frame}` } }),
    view: service.views.open(stored, callKind),
  }
}
