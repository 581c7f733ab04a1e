/** Links to a run in AgentOS. */
import type { StoredRun } from '../../core/ports/store.ts'
import type { Service } from '../../core/service.ts'
import type { RunLink } from '../../http/run-link.ts'
import { AgentOsViews } from './requests/agent-os.ts'
import { families } from './wire/families.ts'

export function agentosLink(service: Service, stored: StoredRun): RunLink {
  const { id, component, session } = stored.run
  const { kind = 'agent' } = service.components().find((each) => each.id === component) ?? {}
  const path = `/${families[kind].path}/${encodeURIComponent(component)}/runs/${encodeURIComponent(id)}`
  const query = `session_id=${encodeURIComponent(session)}`
  return {
    id,
    session,
    path: `${path}?${query}`,
    resume: (frame) => ({
      path: `${path}/resume?${query}${frame === undefined ? '' : `&last_event_index=${frame}`}`,
    }),
    view: new AgentOsViews(service).open(stored),
  }
}
