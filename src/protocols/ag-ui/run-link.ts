/** Links to a run in AG-UI. */
import type { StoredRun } from '../../core/ports/store.ts'
import type { Service } from '../../core/service.ts'
import type { RunLink } from '../../http/run-link.ts'
import { agentKind, givenRunId } from './view/projection.ts'

export function agUiLink(service: Service, stored: StoredRun): RunLink {
  const { run } = stored
  const path = `/ag-ui/${encodeURIComponent(run.component)}/runs/${encodeURIComponent(run.id)}/events`
  return {
    id: givenRunId(run) ?? run.id,
    session: run.session,
    path,
    resume: (frame) => ({ path, ...(frame !== undefined && { headers: { 'last-event-id': String(frame) } }) }),
    view: service.views.open(stored, agentKind),
  }
}
