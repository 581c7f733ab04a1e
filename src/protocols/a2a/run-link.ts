/** Links to a run in A2A. */
import type { StoredRun } from '../../core/ports/store.ts'
import type { Service } from '../../core/service.ts'
import type { RunLink } from '../../http/run-link.ts'
import { RESUME_EXTENSION } from '../../a2a/resume.ts'
import { taskKind } from './view/task-cursor.ts'

export function taskLink(service: Service, stored: StoredRun): RunLink {
  const { id, component, session } = stored.run
  const path = `/a2a/${encodeURIComponent(component)}/tasks/${encodeURIComponent(id)}`
  return {
    id,
    session,
    path,
    // A subscription starts with the task, so after event 0 it includes everything. Without a position, an ended task has no stream.
    resume: (frame = 0) => ({
      path: `${path}:subscribe`,
      headers: { 'last-event-id': String(frame), 'a2a-version': '1.0', 'a2a-extensions': RESUME_EXTENSION },
    }),
    view: service.views.open(stored, taskKind),
  }
}
