/** A conversation is a session. Its metadata and client-added items are in the session's document. */
import { type Document, SESSIONS } from '../../../core/model/document.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'
import { notFound } from '../wire/errors.ts'
import { isMadeHere, toSession } from '../wire/ids.ts'
import type { Message } from '../../../core/schema/conversation.ts'
import { aboutOf } from '../requests/start.ts'

export interface AddedItem {
  readonly id: string
  /** ISO time, for ordering among runs. */
  readonly addedAt: string
  /** Message for components; undefined for items without one. */
  readonly message?: Message
}

export interface ConversationBody {
  readonly metadata?: Readonly<Record<string, string>>
  readonly items?: readonly AddedItem[]
}

export interface StoredConversation {
  readonly id: string
  readonly session: string
  readonly document: Document
  readonly body: ConversationBody
}

export async function findConversation(
  service: Service,
  principal: Principal,
  id: string,
): Promise<StoredConversation> {
  const session = toSession(id)
  const document = await service.documents(principal).get(SESSIONS, session)
  if (document === undefined) throw noConversation(id)
  return { id, session, document, body: bodyOf(document) }
}

function noConversation(id: string): HoldfastError {
  return notFound(`Conversation with id '${id.slice(0, 200)}' not found.`, {
    param: 'conversation',
    code: 'conversation_not_found',
  })
}

function bodyOf({ body }: Document): ConversationBody {
  return (body as { openai?: ConversationBody } | null)?.openai ?? {}
}

/** Updates this protocol's part of the session document. */
export async function changeConversation(
  service: Service,
  principal: Principal,
  id: string,
  change: (body: ConversationBody) => ConversationBody,
): Promise<StoredConversation> {
  const session = toSession(id)
  const document = await service.documents(principal).update(SESSIONS, session, (known) => ({
    body: { ...(known.body as object), openai: change(bodyOf(known)) },
  }))
  if (document === undefined) throw noConversation(id)
  return { id, session, document, body: bodyOf(document) }
}

/** The session that a request names. A caller-chosen name creates a session; a server-assigned id must exist. */
export async function sessionNamed(
  service: Service,
  principal: Principal,
  id: string | undefined,
): Promise<string | undefined> {
  if (id === undefined) return undefined
  if (isMadeHere(id)) await findConversation(service, principal, id)
  return toSession(id)
}

/** Items added since the last run, as input of the next one. A repeated start gets the same items: its own run is ignored. */
export async function addedMessages(
  service: Service,
  principal: Principal,
  session: string,
  key: string | undefined,
): Promise<readonly Message[]> {
  const document = await service.documents(principal).get(SESSIONS, session)
  const { items = [] } = document === undefined ? {} : bodyOf(document)
  if (items.length === 0) return []
  const { runs } = await service.list(principal, { session })
  const own = key === undefined ? -1 : runs.findIndex(({ run }) => aboutOf(run)?.key === key)
  const until = runs[own]?.run.createdAt
  const since = runs[own + 1]?.run.createdAt ?? ''
  return items.flatMap(({ addedAt, message }) =>
    message !== undefined && addedAt > since && (until === undefined || addedAt <= until) ? [message] : [],
  )
}
