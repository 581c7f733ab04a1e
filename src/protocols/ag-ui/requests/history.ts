/** Messages of earlier runs of a thread, for clients that have none. */
import type { ContentPart, Message } from '../../../core/schema/conversation.ts'
import { userInputOf } from '../../../core/structure/user-input.ts'
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Component } from '../../../core/ports/component.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { jsonBytes } from '../../../http/response/respond.ts'
import { foldRun } from '../../../http/response/view.ts'
import type { AgUiMessage } from '../wire/events.ts'
import { messagesOfRun } from './attach.ts'
import type { Threads } from './threads.ts'

/** Maximum runs per request. */
const RUNS_MAX = 100

/** The newest messages before a run that fit into one response, oldest first. The last one is the run's user message. */
export async function messagesBefore(
  threads: Threads,
  principal: Principal,
  component: Component,
  { run: { id, session } }: StoredRun,
): Promise<readonly AgUiMessage[]> {
  const { service } = threads
  const { runs } = await service.list(principal, { component: component.id, session, limit: RUNS_MAX })
  let bytesLeft = service.limits.maxResponseBytes
  let messages: readonly AgUiMessage[] = []
  for (const stored of runs.slice(
    Math.max(
      runs.findIndex(({ run }) => run.id === id),
      0,
    ),
  )) {
    const found = await messagesOf(threads, principal, stored, stored.run.id === id)
    bytesLeft -= jsonBytes(found)
    if (bytesLeft < 0 && messages.length > 0) break
    messages = [...found, ...messages]
  }
  return messages
}

async function messagesOf(
  threads: Threads,
  principal: Principal,
  stored: StoredRun,
  isCurrent: boolean,
): Promise<readonly AgUiMessage[]> {
  if (stored.first > 0) return []
  try {
    const asked = await askedIn(threads, principal, stored)
    return isCurrent ? asked : [...asked, ...(await messagesOfRun(threads, (await threads.state(stored)).state))]
  } catch (cause) {
    if (isHoldfastError(cause, 'not_found') || isHoldfastError(cause, 'too_large')) return [] // removed meanwhile
    throw cause
  }
}

/** User messages of a run, under the ids that the client gave. */
async function askedIn(
  { service }: Threads,
  principal: Principal,
  { run }: StoredRun,
): Promise<readonly AgUiMessage[]> {
  const input = await foldRun<unknown>(
    service,
    principal,
    run.id,
    {
      initial: () => undefined,
      apply: (state, event) => ({ state: event.type === 'run.created' ? event.data.input : state, frames: [] }),
    },
    { until: () => true },
  )
  const { messages: ids } = (run.metadata?.['agUi'] ?? {}) as { readonly messages?: readonly string[] }
  const contents = contentsOf(input)
  return contents.map((content, position) => ({
    id: ids?.[position + (ids.length - contents.length)] ?? `${run.id}-input-${position}`,
    role: 'user',
    content,
  }))
}

/** User messages of an input since the last assistant message. */
function contentsOf(input: unknown): readonly unknown[] {
  const userInput = userInputOf(input)
  if (userInput === undefined) return []
  if ('messages' in userInput) {
    const since = userInput.messages.findLastIndex(({ role }) => role !== 'user') + 1
    return userInput.messages.slice(since).map(({ content }) => toContent(content))
  }
  const { text, files } = userInput
  if (files.length === 0) return [text]
  return [[{ type: 'text', text }, ...files.map((file) => toPart(file.mediaType, file.data ?? file.url ?? ''))]]
}

function toContent(content: Message['content']): unknown {
  if (typeof content === 'string') return content
  return content.flatMap((part: ContentPart) => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }]
    return part.type === 'file' ? [toPart(part.mediaType, part.data)] : []
  })
}

function toPart(mimeType: string, data: string): object {
  const [kind = ''] = mimeType.split('/')
  const type = PART_TYPES.has(kind) ? kind : 'document'
  return { type, source: { type: /^https?:/i.test(data) ? 'url' : 'data', value: data, mimeType } }
}

const PART_TYPES: ReadonlySet<string> = new Set(['image', 'audio', 'video'])
