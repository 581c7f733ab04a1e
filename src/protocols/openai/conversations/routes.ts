/** Conversation routes. A conversation is a session. */
import type { Ids } from '../../../core/ports/clock.ts'
import { SESSIONS } from '../../../core/model/document.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Service } from '../../../core/service.ts'
import { readJson } from '../../../http/request/body.ts'
import { respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { notFound, unsupported } from '../wire/errors.ts'
import { toConversationId } from '../wire/ids.ts'
import { pageOf, readPage } from '../wire/lists.ts'
import { messagesFrom } from '../responses/items.ts'
import { itemLookup } from '../responses/stored.ts'
import { findItem, itemsOf, type ListedItem, toAdded } from './items.ts'
import { type AddedItem, changeConversation, findConversation, type StoredConversation } from './stored.ts'

const loadShapes = (): Promise<[typeof import('../wire/shapes.ts'), typeof import('./shapes.ts')]> =>
  Promise.all([import('../wire/shapes.ts'), import('./shapes.ts')])

export function conversationRoutes(service: Service, ids: Ids): Route[] {
  const one = '/v1/conversations/{id}'
  return [
    { method: 'POST', path: '/v1/conversations', handle: (call) => create(call, service, ids) },
    { method: 'GET', path: one, handle: (call) => retrieve(call, service) },
    { method: 'POST', path: one, handle: (call) => update(call, service) },
    { method: 'DELETE', path: one, handle: (call) => remove(call, service) },
    { method: 'GET', path: `${one}/items`, handle: (call) => list(call, service) },
    { method: 'POST', path: `${one}/items`, handle: (call) => add(call, service, ids) },
    { method: 'GET', path: `${one}/items/{item}`, handle: (call) => retrieveItem(call, service) },
    { method: 'DELETE', path: `${one}/items/{item}`, handle: (call) => removeItem(call, service) },
  ]
}

async function create(call: Call, service: Service, ids: Ids): Promise<void> {
  const [{ parseBody }, { conversationBody }] = await loadShapes()
  const given = await readJson(call.request, service.limits.maxBodyBytes)
  const { metadata, items } = parseBody(conversationBody, given)
  const session = ids.session()
  const body = {
    openai: {
      ...(metadata !== undefined && { metadata }),
      ...(items !== undefined && { items: await addedItems(call, service, ids, items) }),
    },
  }
  const document = await service.documents(call.principal).put({ collection: SESSIONS, id: session, body }, 0)
  if (document === undefined) throw new HoldfastError('conflict', `session ${session} exists`)
  const id = toConversationId(session)
  respondJson(call.response, 200, toConversation({ id, session, document, body: body.openai }))
}

function toConversation({ id, document, body }: StoredConversation): object {
  const created = Math.floor(Date.parse(document.createdAt) / 1000)
  return { id, object: 'conversation', created_at: created, metadata: body.metadata ?? {} }
}

async function retrieve(call: Call, service: Service): Promise<void> {
  respondJson(call.response, 200, toConversation(await findConversation(service, call.principal, call.params['id']!)))
}

async function update(call: Call, service: Service): Promise<void> {
  const [{ parseBody }, { conversationUpdate }] = await loadShapes()
  const given = await readJson(call.request, service.limits.maxBodyBytes)
  const { metadata } = parseBody(conversationUpdate, given)
  const changed = await changeConversation(service, call.principal, call.params['id']!, (body) => ({
    ...body,
    metadata: metadata ?? {},
  }))
  respondJson(call.response, 200, toConversation(changed))
}

/** Deletes all its runs too. */
async function remove(call: Call, service: Service): Promise<void> {
  const { id, session } = await findConversation(service, call.principal, call.params['id']!)
  await service.removeSession(call.principal, session)
  respondJson(call.response, 200, { id, object: 'conversation.deleted', deleted: true })
}

async function list(call: Call, service: Service): Promise<void> {
  const conversation = await findConversation(service, call.principal, call.params['id']!)
  const wishes = readPage(call.query)
  const { items, isTrimmed } = await itemsOf(service, call.principal, conversation, wishes)
  const page = pageOf(items, wishes, service.limits.maxResponseBytes)
  respondJson(call.response, 200, isTrimmed ? { ...page, events_trimmed: true } : page)
}

async function add(call: Call, service: Service, ids: Ids): Promise<void> {
  const [{ parseBody }, { addBody }] = await loadShapes()
  const id = call.params['id']!
  await findConversation(service, call.principal, id)
  const { items } = parseBody(addBody, await readJson(call.request, service.limits.maxBodyBytes))
  const added = await addedItems(call, service, ids, items)
  await changeConversation(service, call.principal, id, (body) => ({
    ...body,
    items: [...(body.items ?? []), ...added],
  }))
  respondJson(call.response, 200, pageOf(added.map(toAdded), { limit: added.length, order: 'asc', after: undefined }))
}

async function addedItems(
  call: Call,
  service: Service,
  ids: Ids,
  items: Parameters<typeof messagesFrom>[0],
): Promise<AddedItem[]> {
  const messages = await messagesFrom(items, itemLookup(service, call.principal))
  const addedAt = new Date().toISOString()
  return messages.map((message) => ({ id: `item_${ids.unique()}`, addedAt, message }))
}

async function retrieveItem(call: Call, service: Service): Promise<void> {
  respondJson(call.response, 200, await namedItem(call, service))
}

async function namedItem(call: Call, service: Service): Promise<ListedItem> {
  const conversation = await findConversation(service, call.principal, call.params['id']!)
  const id = call.params['item']!
  const found = await findItem(service, call.principal, conversation, id)
  if (found !== undefined) return found
  throw notFound(`Item with id '${id.slice(0, 200)}' not found.`, { param: 'item_id', code: 'item_not_found' })
}

/** Items of runs cannot be deleted individually, because logs are immutable. */
async function removeItem(call: Call, service: Service): Promise<void> {
  const { id } = await namedItem(call, service)
  if (!id.startsWith('item_'))
    throw unsupported(`item ${id} is part of a run; delete its response or the conversation`, 'item_id')
  const changed = await changeConversation(service, call.principal, call.params['id']!, (body) => ({
    ...body,
    items: (body.items ?? []).filter((item) => item.id !== id),
  }))
  respondJson(call.response, 200, toConversation(changed))
}
