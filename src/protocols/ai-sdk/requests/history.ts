/** The stored messages of a chat, for pages that load it. */
import {
  joinMessages,
  messagesOf,
  type RunMessages,
  userMessagesProjection,
  type StoredUIMessage,
} from '../../../ai-sdk/view/history.ts'
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Component } from '../../../core/ports/component.ts'
import { shareEventLoop } from '../../../core/runtime/share-event-loop.ts'
import { jsonBytes } from '../../../http/response/respond.ts'
import { foldRun } from '../../../http/response/view.ts'
import type { ChatService, ToolParts } from './chats.ts'

export interface ChatHistory {
  readonly messages: readonly StoredUIMessage[]
  /** Whether there are earlier messages. */
  readonly hasMore: boolean
}

/** Maximum runs per request. */
const RUNS_MAX = 100

/** The newest messages that fit into one response, oldest first. */
export async function historyOf(
  chats: ChatService,
  principal: Principal,
  component: Component,
  { session, tools }: { readonly session: string; readonly tools: ToolParts },
): Promise<ChatHistory> {
  const { service } = chats
  const listed = await service.list(principal, { component: component.id, session, limit: RUNS_MAX })
  const byRun: RunMessages[] = []
  let bytesLeft = service.limits.maxResponseBytes
  for (const { run, first } of listed.runs) {
    const messages = first > 0 ? NONE : await messagesIn(chats, principal, run, tools)
    await shareEventLoop()
    bytesLeft -= jsonBytes(joinMessages([messages]))
    if (bytesLeft < 0 && byRun.length > 0) break
    byRun.unshift(messages)
  }
  await shareEventLoop()
  const hasMore = listed.cursor !== undefined || byRun.length < listed.runs.length
  return { messages: joinMessages(byRun), hasMore }
}

const NONE: RunMessages = { rewrites: false, drafts: [] }

async function messagesIn(
  { service }: ChatService,
  principal: Principal,
  run: Run,
  tools: ToolParts,
): Promise<RunMessages> {
  try {
    return messagesOf(run, await foldRun(service, principal, run.id, userMessagesProjection(tools)))
  } catch (cause) {
    if (isHoldfastError(cause, 'not_found')) return NONE // removed meanwhile
    throw cause
  }
}
