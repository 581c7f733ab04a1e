/** `/native/sessions`: lists, shows, renames and removes sessions. `/sessions` is AgentOS's (decision 0016). */
import { type Document, SESSIONS } from '../../../core/model/document.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { cursorOf, positionOf } from '../../../core/model/page.ts'
import type { Service } from '../../../core/service.ts'
import { readJson } from '../../../http/request/body.ts'
import { jsonBytes, respondEmpty, respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { readNumber } from '../../../http/request/read-number.ts'
import type { SessionShape } from '../wire/shapes.ts'

export function sessionRoutes(service: Service): Route[] {
  return [
    { method: 'GET', path: '/native/sessions', handle: (call) => listSessions(call, service) },
    { method: 'GET', path: '/native/sessions/{id}/events', handle: (call) => serveSessionEvents(call, service) },
    { method: 'GET', path: '/native/sessions/{id}', handle: (call) => getSession(call, service) },
    { method: 'PATCH', path: '/native/sessions/{id}', handle: (call) => renameSession(call, service) },
    { method: 'DELETE', path: '/native/sessions/{id}', handle: (call) => removeSession(call, service) },
  ]
}

/** Loaded lazily: few servers need it, and none before its first request. */
async function serveSessionEvents(call: Call, service: Service): Promise<void> {
  const { serve } = await import('../session-events/route.ts')
  await serve(call, service)
}

const LIMIT = 50

async function listSessions(call: Call, service: Service): Promise<void> {
  const { query } = call
  const component = query.get('component')
  const name = query.get('name')
  const limit = readNumber(query, 'limit', service.limits.maxPageDocuments, 1, LIMIT)
  const cursor = query.get('cursor')
  const { documents, total, next } = await service.documents(call.principal).list({
    collection: SESSIONS,
    limit,
    ...(cursor !== null && { after: sessionPositionOf(cursor) }),
    ...(component !== null && { label: component }),
    ...(name !== null && name !== '' && { title: name }),
  })
  const sessions = documents.map(toSession)
  const { maxResponseBytes } = service.limits
  if (jsonBytes(sessions) > maxResponseBytes)
    throw new HoldfastError(
      'too_large',
      `the ${limit} sessions of a page have more than ${maxResponseBytes} bytes; lower limit`,
    )
  const nextCursor = next && cursorOf({ createdAt: next.time, id: next.id })
  respondJson(call.response, 200, { sessions, total, ...(nextCursor !== undefined && { cursor: nextCursor }) })
}

function sessionPositionOf(cursor: string): { readonly time: string; readonly id: string } {
  const { createdAt: time, id } = positionOf(cursor)
  return { time, id }
}

async function getSession(call: Call, service: Service): Promise<void> {
  const id = call.params['id']!
  const found = await service.documents(call.principal).get(SESSIONS, id)
  if (found === undefined) throw noSession(id)
  respondJson(call.response, 200, toSession(found))
}

async function renameSession(call: Call, service: Service): Promise<void> {
  const id = call.params['id']!
  const { parseBody, renameBody } = await import('../wire/shapes.ts')
  const { name } = parseBody(renameBody, await readJson(call.request, service.limits.maxBodyBytes))
  const renamed = await service.documents(call.principal).update(SESSIONS, id, () => ({ title: name }))
  if (renamed === undefined) throw noSession(id)
  respondJson(call.response, 200, toSession(renamed))
}

async function removeSession(call: Call, service: Service): Promise<void> {
  await service.removeSession(call.principal, call.params['id']!)
  respondEmpty(call.response, 204)
}

function toSession({ id, title, label, createdAt, updatedAt }: Document): SessionShape {
  return { id, name: title ?? id, ...(label !== undefined && { component: label }), createdAt, updatedAt }
}

function noSession(id: string): HoldfastError {
  return new HoldfastError('not_found', `session ${id.slice(0, 100)} not found`)
}
