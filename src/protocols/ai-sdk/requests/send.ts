/** Starts a run with a user message, or answers a paused run. */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Component } from '../../../core/ports/component.ts'
import { inputFor } from '../../../core/schema/conversation.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { type MessageNote, NOTE } from '../../../ai-sdk/view/history.ts'
import { parseMessageId } from '../../../ai-sdk/ids.ts'
import type { ChatStream } from '../wire/stream.ts'
import { type Answers, answersFrom, answersInWords, type Resolutions, resolutionsIn } from './answers.ts'
import type { ChatService, ToolParts } from './chats.ts'
import { invalid, newMessages, toMessages } from './messages.ts'
import type { ChatBody, UiMessage } from './shapes.ts'

export interface SendRequest {
  readonly principal: Principal
  readonly component: Component
  readonly body: ChatBody
  readonly tools: ToolParts
  readonly idempotencyKey?: string | undefined
}

export interface SentMessage {
  readonly stream: ChatStream
  readonly session: string
}

export async function send(chats: ChatService, request: SendRequest): Promise<SentMessage> {
  const messages = messagesIn(request.body)
  const last = messages.at(-1)!
  if (last.role === 'assistant') return continueRun(chats, request, last)
  if (last.role !== 'user') throw invalid('the last message must be of the user, or answer a question of the assistant')
  return (await answerInWords(chats, request, last)) ?? start(chats, request, messages)
}

function messagesIn({ messages, message }: ChatBody): readonly UiMessage[] {
  const given = messages ?? (message === undefined ? [] : [message])
  if (given.length === 0) throw invalid('messages: the request has no message')
  return given
}

async function start(
  chats: ChatService,
  { principal, component, body, tools, idempotencyKey }: SendRequest,
  messages: readonly UiMessage[],
): Promise<SentMessage> {
  const session = body.id
  const { stored } = await chats.service.start(principal, {
    component: component.id,
    input: await inputOf(chats, { principal, component, body }, messages),
    protocol: 'ai-sdk',
    follows: true,
    metadata: { [NOTE]: noteOn(messages.at(-1)!, body) },
    ...(session !== undefined && { session }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  })
  return { stream: chats.fresh(stored, tools), session: stored.run.session }
}

/**
 * Sends only new messages if the session has the earlier ones. A client that regenerates or edits a message sends the remaining
 * conversation.
 */
async function inputOf(
  chats: ChatService,
  { principal, component, body }: Pick<SendRequest, 'principal' | 'component' | 'body'>,
  messages: readonly UiMessage[],
): Promise<unknown> {
  if (body.messages !== undefined && isRewrite(body))
    return inputFor(component, { messages: toMessages(messages), caller: {}, continues: false })
  const isKnown = body.id !== undefined && (await chats.exists(principal, body.id))
  if (!isKnown) return inputFor(component, { messages: toMessages(messages), caller: {} })
  return inputFor(component, { messages: toMessages(newMessages(messages)), caller: {}, continues: true })
}

/** Maximum metadata of a message that is stored: every listing of runs contains it. */
const METADATA_CHARS_MAX = 2000

function noteOn({ id: message, metadata }: UiMessage, body: ChatBody): MessageNote {
  const fits = metadata !== undefined && JSON.stringify(metadata).length <= METADATA_CHARS_MAX
  return {
    ...(message !== undefined && { message }),
    ...(fits && { metadata }),
    ...(isRewrite(body) && { rewrites: true }),
  }
}

function isRewrite({ trigger, messageId }: ChatBody): boolean {
  return trigger === 'regenerate-message' || messageId !== undefined
}

/** The last assistant message answers the run's questions. A repeated answer gets the same stream again. */
async function continueRun(chats: ChatService, request: SendRequest, last: UiMessage): Promise<SentMessage> {
  const stored = await askingRun(chats, request, last)
  const { tools } = request
  const given = resolutionsIn(last)
  const { state } = await chats.state(stored, tools)
  const { id, session } = stored.run
  const answers = state.waiting.length === 0 ? undefined : answersFrom(id, state.waiting, given)
  if (answers !== undefined) return { stream: await answer(chats, request, stored, answers, state.leg + 1), session }
  const leg = legOf(state.answered, given)
  if (leg === undefined)
    throw new HoldfastError('conflict', 'the message does not answer an open question: reload the chat')
  return { stream: await chats.stream(stored, { leg, tools }), session }
}

async function askingRun(
  chats: ChatService,
  { principal, component, body }: SendRequest,
  { id = '' }: UiMessage,
): Promise<StoredRun> {
  const named = parseMessageId(id)
  if (named !== undefined) {
    const stored = await chats.run(principal, component, named.run)
    if (body.id === undefined || stored.run.session === body.id) return stored
    throw new HoldfastError('not_found', `message ${id} not found in this chat`)
  }
  const waiting = body.id === undefined ? [] : await chats.unfinished(principal, component, body.id)
  const paused = waiting.find(({ run }) => run.status === 'paused')
  if (paused !== undefined) return paused
  throw new HoldfastError('conflict', 'the message does not answer an open question: reload the chat')
}

function legOf(answered: ReadonlyMap<string, number>, { approvals, results }: Resolutions): number | undefined {
  const legs = [...approvals.keys(), ...results.keys()].flatMap((id) => answered.get(id) ?? [])
  return legs.length === 0 ? undefined : Math.max(...legs)
}

async function answerInWords(
  chats: ChatService,
  request: SendRequest,
  message: UiMessage,
): Promise<SentMessage | undefined> {
  const { principal, component, body, tools } = request
  if (body.id === undefined || isRewrite(body)) return undefined
  const [newest] = await chats.unfinished(principal, component, body.id)
  if (newest?.run.status !== 'paused') return undefined
  const { state } = await chats.state(newest, tools)
  const answers = answersInWords(newest.run.id, state.waiting, message)
  if (answers === undefined) return undefined
  return { stream: await answer(chats, request, newest, answers, state.leg + 1), session: body.id }
}

/** If two clients answer concurrently, both follow the first answer. */
async function answer(
  chats: ChatService,
  { principal, component, tools }: SendRequest,
  { run: { id } }: StoredRun,
  answers: Answers,
  leg: number,
): Promise<ChatStream> {
  let conflict: unknown
  try {
    await chats.service.answer(principal, id, answers)
  } catch (cause) {
    if (!isHoldfastError(cause, 'conflict')) throw cause
    conflict = cause
  }
  const stored = await chats.run(principal, component, id)
  const { state } = await chats.state(stored, tools)
  if (conflict !== undefined && state.leg < leg) throw conflict
  return chats.stream(stored, { leg, tools })
}
