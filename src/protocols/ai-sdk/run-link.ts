/** Links to a run in AI SDK chats: those of its first message. */
import { toMessageId } from '../../ai-sdk/ids.ts'
import { chatKind } from '../../ai-sdk/view/projection.ts'
import type { StoredRun } from '../../core/ports/store.ts'
import type { Service } from '../../core/service.ts'
import type { RunLink } from '../../http/run-link.ts'
import { CHAT_PATH } from './routes/chat.ts'

export function chatLink(service: Service, stored: StoredRun): RunLink {
  const { id: run, session, component } = stored.run
  const about = `component=${encodeURIComponent(component)}`
  return {
    id: toMessageId({ run, leg: 0 }),
    session,
    path: `${CHAT_PATH}/${encodeURIComponent(session)}/messages?${about}`,
    resume: (frame) => ({
      path: `${CHAT_PATH}/${encodeURIComponent(run)}~0/stream?${about}&startIndex=${frame === undefined ? 0 : frame + 1}`,
    }),
    view: service.views.open(stored, chatKind({ leg: 0, restart: 0, tools: 'dynamic' })),
  }
}
