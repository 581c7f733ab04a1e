/** `/sessions`: create, list, get, rename, update and delete sessions and their runs. */
import type { ComponentKind } from '../../../core/ports/component.ts'
import { type Document, type DocumentQuery, SESSIONS } from '../../../core/model/document.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { readJson } from '../../../http/request/body.ts'
import { jsonBytes, respondEmpty, respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { fieldError } from '../wire/errors.ts'
import { families } from '../wire/families.ts'
import { type Fields, integerField, nameField, objectField, queryFields, secondsField } from '../requests/fields.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import { listedRun, previewedRun } from '../view/run-output.ts'
import { MERGED_MAX, mergeSessions, sessionsOfUpstream, type UpstreamReport } from '../view/merged-sessions.ts'
import { noSession, respondRuns, runOf, runsOf, sessionOf, type RunExcerpts, type Show } from '../view/session-runs.ts'
import {
  changeSession,
  factsOf,
  familyOf,
  sessionDetail,
  type SessionFacts,
  sessionSummary,
  excerptOf,
} from '../view/sessions.ts'

export function sessionRoutes(os: AgentOs): Route[] {
  return [
    { method: 'GET', path: '/sessions', handle: (call) => listSessions(call, os) },
    { method: 'POST', path: '/sessions', handle: (call) => createSession(call, os) },
    { method: 'DELETE', path: '/sessions', handle: (call) => removeSessions(call, os) },
    one(os, 'GET', '', getSession),
    one(os, 'PATCH', '', patchSession),
    one(os, 'DELETE', '', removeSession),
    one(os, 'POST', '/rename', renameSession),
    one(os, 'GET', '/runs', listSessionRuns),
    one(os, 'GET', '/runs/{run}', getSessionRun),
    one(os, 'GET', '/run-previews', previewSessionRuns),
  ]
}

/** A route of one session. The upstream serves sessions that only it has. */
function one(
  os: AgentOs,
  method: Route['method'],
  rest: string,
  handle: (call: Call, os: AgentOs) => Promise<void>,
): Route {
  return {
    method,
    path: `/sessions/{id}${rest}`,
    async handle(call) {
      const { id = '', run = '' } = call.params
      const upstream = os.upstreamSessions
      if (upstream?.isOpenTo(call.principal) !== true || (await isOurs(os, call, id))) return handle(call, os)
      return upstream.pass(call, `sessions/${encodeURIComponent(id)}${rest.replace('{run}', encodeURIComponent(run))}`)
    },
  }
}

async function isOurs(os: AgentOs, call: Call, id: string): Promise<boolean> {
  return (await os.service.documents(call.principal).get(SESSIONS, id)) !== undefined
}

const LIMIT = 20

async function listSessions(call: Call, os: AgentOs): Promise<void> {
  const began = performance.now()
  const fields = queryFields(call.query)
  const limit = Math.min(positive(fields, 'limit', LIMIT), os.service.limits.maxPageDocuments)
  const page = positive(fields, 'page', 1)
  const { data, total, upstream } = await pageOf(call, os, (page - 1) * limit, limit)
  const { maxResponseBytes } = os.service.limits
  if (jsonBytes(data) > maxResponseBytes)
    throw new HoldfastError(
      'too_large',
      `the ${limit} sessions of a page have more than ${maxResponseBytes} bytes; lower limit`,
    )
  respondJson(call.response, 200, {
    data,
    meta: {
      page,
      limit,
      total_pages: Math.ceil(total / limit),
      total_count: total,
      search_time_ms: Math.round((performance.now() - began) * 1000) / 1000,
      ...(upstream !== undefined && { upstream }),
    },
  })
}

interface SessionPage {
  readonly data: readonly object[]
  readonly total: number
  readonly upstream?: UpstreamReport
}

/** Sessions of this server, and of the upstream that is passed through at the root. */
async function pageOf(call: Call, os: AgentOs, offset: number, limit: number): Promise<SessionPage> {
  const query = queryOf(call)
  const upstream = os.upstreamSessions
  if (upstream?.isOpenTo(call.principal) !== true) {
    const { documents, total } = await findSessions(call, os, query, offset, limit)
    return { data: documents.map((document) => sessionSummary(os, document)), total }
  }
  if (offset + limit > MERGED_MAX)
    throw new HoldfastError(
      'invalid_request',
      `only the first ${MERGED_MAX} sessions are merged with those of ${upstream.name}: use a lower page`,
    )
  const theirs = await sessionsOfUpstream(call, upstream, (id) => isOurs(os, call, id))
  const { documents, total } = await findSessions(call, os, query, 0, offset + limit)
  const ours = documents.map((document) => sessionSummary(os, document))
  const field = query.order === 'updated' ? 'updated_at' : 'created_at'
  const merged = mergeSessions(ours, theirs.sessions, { field, ascending: query.ascending === true })
  return {
    data: merged.slice(offset, offset + limit),
    total: total + theirs.sessions.length,
    upstream: theirs.report,
  }
}

function positive(fields: Fields, name: string, fallback: number): number {
  const value = integerField(fields, name, 'query') ?? fallback
  if (value >= 1) return value
  throw fieldError('query', name, 'greater_than_equal', 'Input should be greater than or equal to 1')
}

/** A Map rather than an object, to exclude inherited keys. */
const ORDERS: ReadonlyMap<string, 'created' | 'updated'> = new Map([
  ['created_at', 'created'],
  ['updated_at', 'updated'],
])

function queryOf({ query }: Call): Omit<DocumentQuery, 'limit'> {
  const component = query.get('component_id')
  const title = query.get('session_name')
  const order = ORDERS.get(query.get('sort_by') ?? 'created_at')
  if (order === undefined) throw fieldError('query', 'sort_by', 'enum', "Input should be 'created_at' or 'updated_at'")
  const direction = query.get('sort_order') ?? 'desc'
  if (direction !== 'asc' && direction !== 'desc')
    throw fieldError('query', 'sort_order', 'enum', "Input should be 'asc' or 'desc'")
  return {
    collection: SESSIONS,
    order,
    ascending: direction === 'asc',
    ...(component !== null && component !== '' && { label: component }),
    ...(title !== null && title !== '' && { title }),
  }
}

interface FoundSession {
  readonly documents: readonly Document[]
  readonly total: number
}

/** Maximum sessions to scan for filters that the store does not support. */
const EXAMINED_MAX = 20_000

async function findSessions(
  call: Call,
  os: AgentOs,
  query: Omit<DocumentQuery, 'limit'>,
  offset: number,
  limit: number,
): Promise<FoundSession> {
  const owned = os.service.documents(call.principal)
  const type = typeOf(call)
  const user = call.query.get('user_id')
  if (type === undefined && user === null) return owned.list({ ...query, offset, limit })
  const fits = (document: Document): boolean =>
    (type === undefined || familyOf(os, document) === type) && (user === null || factsOf(document).user_id === user)
  const documents: Document[] = []
  let total = 0
  const size = os.service.limits.maxPageDocuments
  for (let from = 0; from < EXAMINED_MAX; from += size) {
    const page = await owned.list({ ...query, offset: from, limit: size })
    for (const document of page.documents.filter(fits))
      if (++total > offset && documents.length < limit) documents.push(document)
    if (from + size >= page.total) break
  }
  return { documents, total }
}

function typeOf({ query }: Call): ComponentKind | undefined {
  const type = query.get('type')
  if (type === null || type === '') return undefined
  if (Object.hasOwn(families, type)) return type as ComponentKind
  throw fieldError('query', 'type', 'enum', "Input should be 'agent', 'team' or 'workflow'")
}

async function createSession(call: Call, os: AgentOs): Promise<void> {
  const type = typeOf(call) ?? 'agent'
  const fields = await readFields(call, os)
  const { maxNameChars } = os.service.limits
  const id = nameField(fields, 'session_id', maxNameChars) ?? crypto.randomUUID()
  const title = nameField(fields, 'session_name', maxNameChars)
  const label = nameField(fields, families[type].idField, maxNameChars)
  const user = nameField(fields, 'user_id', maxNameChars)
  const facts: SessionFacts = { type, ...(user !== undefined && { user_id: user }), ...changesOf(fields) }
  const draft = { collection: SESSIONS, id, body: { agentos: facts } }
  const created = await os.service
    .documents(call.principal)
    .put({ ...draft, ...(title !== undefined && { title }), ...(label !== undefined && { label }) }, 0)
  if (created === undefined) throw new HoldfastError('conflict', `Session with id ${id} already exists`)
  respondJson(call.response, 201, sessionDetail(os, created, { runs: [], whole: true }))
}

async function readFields(call: Call, os: AgentOs): Promise<Fields> {
  const body = (await readJson(call.request, os.service.limits.maxBodyBytes)) ?? {}
  if (typeof body === 'object' && !Array.isArray(body)) return body as Fields
  throw new HoldfastError('invalid_request', 'the body must be a JSON object')
}

function changesOf(fields: Fields): SessionFacts {
  const state = objectField(fields, 'session_state')
  const metadata = objectField(fields, 'metadata')
  const summary = objectField(fields, 'summary')
  return {
    ...(state !== undefined && { session_state: state }),
    ...(metadata !== undefined && { metadata }),
    ...(summary !== undefined && { session_summary: summary }),
  }
}

/** The session in the path. If the query names another user or family, it counts as not found. */
async function named(call: Call, os: AgentOs): Promise<Document> {
  const document = await sessionOf(os, call.principal, call.params['id']!)
  const type = typeOf(call)
  const user = call.query.get('user_id')
  const strange =
    (type !== undefined && familyOf(os, document) !== type) ||
    (user !== null && user !== '' && factsOf(document).user_id !== user)
  if (strange) throw noSession()
  return document
}

async function getSession(call: Call, os: AgentOs): Promise<void> {
  const document = await named(call, os)
  await respondSession(call, os, document)
}

async function respondSession(call: Call, os: AgentOs, document: Document): Promise<void> {
  const spoken = await runsOf(os, call.principal, document.id, { show: excerptOf })
  respondJson(call.response, 200, sessionDetail(os, document, spoken))
}

async function renameSession(call: Call, os: AgentOs): Promise<void> {
  const fields = await readFields(call, os)
  const title = nameField(fields, 'session_name', os.service.limits.maxNameChars)
  if (title === undefined) throw fieldError('body', 'session_name', 'missing', 'Field required')
  await change(call, os, title, {})
}

async function patchSession(call: Call, os: AgentOs): Promise<void> {
  const fields = await readFields(call, os)
  await change(call, os, nameField(fields, 'session_name', os.service.limits.maxNameChars), changesOf(fields))
}

async function change(call: Call, os: AgentOs, title: string | undefined, changes: SessionFacts): Promise<void> {
  const { id } = await named(call, os)
  const changed = await changeSession(os, call.principal, id, (known) => ({
    facts: { ...factsOf(known), ...changes },
    ...(title !== undefined && { title }),
  }))
  await respondSession(call, os, changed)
}

async function removeSession(call: Call, os: AgentOs): Promise<void> {
  const { id } = await named(call, os)
  await os.service.removeSession(call.principal, id)
  respondEmpty(call.response, 204)
}

const REMOVED_AT_ONCE_MAX = 100

async function removeSessions(call: Call, os: AgentOs): Promise<void> {
  const fields = await readFields(call, os)
  const { session_ids: ids, session_types: types } = fields
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string'))
    throw fieldError('body', 'session_ids', 'missing', 'Input should be a list of session ids')
  if (types !== undefined && (!Array.isArray(types) || types.length !== ids.length))
    throw new HoldfastError('invalid_request', 'Session IDs and session types must have the same length')
  if (ids.length > REMOVED_AT_ONCE_MAX)
    throw new HoldfastError('invalid_request', `at most ${REMOVED_AT_ONCE_MAX} sessions can be removed at once`)
  // Check all first, so that an unknown id does not leave half of them deleted.
  for (const id of ids) await sessionOf(os, call.principal, id)
  for (const id of ids) await os.service.removeSession(call.principal, id)
  respondEmpty(call.response, 204)
}

async function listSessionRuns(call: Call, os: AgentOs): Promise<void> {
  respondRuns(call, await wantedRuns(call, os, listedRun))
}

async function previewSessionRuns(call: Call, os: AgentOs): Promise<void> {
  respondRuns(call, await wantedRuns(call, os, previewedRun))
}

/** A session's runs, filtered by the query's time range and statuses. */
async function wantedRuns<Shown>(call: Call, os: AgentOs, show: Show<Shown>): Promise<RunExcerpts<Shown>> {
  const { id } = await named(call, os)
  const fields = queryFields(call.query)
  const after = secondsField(fields, 'created_after')
  const before = secondsField(fields, 'created_before')
  const names = call.query.getAll('status').map((status) => status.toUpperCase())
  return runsOf(os, call.principal, id, {
    ...(names.length > 0 && { statuses: names }),
    ...(after !== undefined && { createdAfter: after * 1000 }),
    ...(before !== undefined && { createdBefore: Math.floor(before * 1000) }),
    show,
  })
}

async function getSessionRun(call: Call, os: AgentOs): Promise<void> {
  const session = await named(call, os)
  const { state, replaced } = await runOf(os, call.principal, session, call.params['run']!)
  respondJson(call.response, 200, listedRun(state, replaced))
}
