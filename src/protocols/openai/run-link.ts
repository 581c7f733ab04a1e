/** Links to a run in the Responses API: those of its first response. */
import type { StoredRun } from '../../core/ports/store.ts'
import type { Service } from '../../core/service.ts'
import type { RunLink } from '../../http/run-link.ts'
import { responseKind } from './responses/projection.ts'
import { toConversationId, toResponseId } from './wire/ids.ts'

export function responseLink(service: Service, stored: StoredRun): RunLink {
  const { id: run, session } = stored.run
  const id = toResponseId({ run, number: 0 })
  const path = `/v1/responses/${encodeURIComponent(id)}`
  return {
    id,
    session: toConversationId(session),
    path,
    resume: (frame) => ({ path: `${path}?stream=true${frame === undefined ? '' : `&starting_after=${frame}`}` }),
    view: service.views.open(stored, responseKind(0)),
  }
}
