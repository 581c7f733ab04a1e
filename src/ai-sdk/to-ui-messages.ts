/** Converts a session's logs to messages for `useChat`, including runs that other protocols started. */
import type { UIMessage } from 'ai'
import type { RunInfo } from '../client/types.ts'
import type { SessionHandle } from '../client/sessions.ts'
import type { Run } from '../core/model/run.ts'
import { joinMessages, messagesOf, type RunMessages, userMessagesProjection } from './view/history.ts'

/** Options of `toUIMessages`. */
export interface ToUIMessagesOptions {
  /** Only runs of this component. Default: all. */
  readonly component?: string
  /** Tool parts: `tool-<name>` or `dynamic-tool`. Default: `dynamic`. */
  readonly toolParts?: 'static' | 'dynamic'
  /** Maximum number of runs, the newest ones. Default: 100. */
  readonly limit?: number
  /** Aborts the call. Default: none. */
  readonly signal?: AbortSignal
}

/** The messages that `useChat` has after streaming the session's runs. Runs whose beginning was trimmed are skipped. */
export async function toUIMessages<Message extends UIMessage = UIMessage>(
  session: Pick<SessionHandle, 'runs' | 'run'>,
  { component, toolParts = 'dynamic', limit = 100, signal }: ToUIMessagesOptions = {},
): Promise<Message[]> {
  const abortable = signal === undefined ? {} : { signal }
  const { runs } = await session.runs({ limit, ...(component !== undefined && { component }) }, abortable)
  const byRun: RunMessages[] = []
  for (const run of runs.toReversed())
    if (run.earliest === 0 && run.damaged !== true) byRun.push(await messagesIn(session, run, toolParts, abortable))
  return joinMessages(byRun) as unknown as Message[]
}

async function messagesIn(
  session: Pick<SessionHandle, 'run'>,
  info: RunInfo,
  toolParts: 'static' | 'dynamic',
  abortable: { readonly signal?: AbortSignal },
): Promise<RunMessages> {
  const run: Run = { ...info, owner: '' } // the client does not know the owner
  const projection = userMessagesProjection(toolParts)
  let state = projection.initial(run)
  for await (const event of session.run(info.id).events({ after: -1, ...abortable })) {
    state = projection.apply(state, event).state
    if (event.index >= info.events - 1) break // the run may continue; the chat's stream has the rest
  }
  return messagesOf(run, state)
}
