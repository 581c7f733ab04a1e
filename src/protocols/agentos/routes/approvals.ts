/** `/approvals`: what runs wait for a person to approve, and the decision. */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Run } from '../../../core/model/run.ts'
import { readJson } from '../../../http/request/body.ts'
import { respondJson } from '../../../http/response/respond.ts'
import { foldRun } from '../../../http/response/view.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { type AgentOs, keyOfRunId } from '../requests/agent-os.ts'
import { type Fields, integerField, queryFields, textField } from '../requests/fields.ts'
import { type Approval, approvalNamed, approvalsProjection, pendingOf, shownApproval } from '../view/approvals.ts'
import { fieldError } from '../wire/errors.ts'
import { families } from '../wire/families.ts'
import { ownMetadata } from '../wire/run-id.ts'

export function approvalRoutes(os: AgentOs): Route[] {
  const one = '/approvals/{approval}'
  return [
    { method: 'GET', path: '/approvals', handle: (call) => listApprovals(call, os) },
    { method: 'GET', path: '/approvals/count', handle: (call) => countApprovals(call, os) },
    { method: 'GET', path: one, handle: async (call) => respondApproval(call, os, await named(call, os)) },
    { method: 'GET', path: `${one}/status`, handle: (call) => getStatus(call, os) },
    { method: 'POST', path: `${one}/resolve`, handle: (call) => resolve(call, os) },
  ]
}

interface AskedApproval {
  readonly run: Run
  readonly approval: Approval
}

const LIMIT = 100
const LIMIT_MAX = 1000
/** Paused runs that a listing looks at, the newest ones. */
const EXAMINED_MAX = 1000

async function listApprovals(call: Call, os: AgentOs): Promise<void> {
  const fields = queryFields(call.query)
  const limit = inBounds(fields, 'limit', LIMIT, LIMIT_MAX)
  const page = inBounds(fields, 'page', 1, EXAMINED_MAX)
  const found = await approvalsFor(call, os, fields)
  const data = found.slice((page - 1) * limit, page * limit).map((each) => shown(os, each))
  const meta = { page, limit, total_pages: Math.ceil(found.length / limit), total_count: found.length }
  respondJson(call.response, 200, { data, meta })
}

async function countApprovals(call: Call, os: AgentOs): Promise<void> {
  const found = await approvalsFor(call, os, { ...queryFields(call.query), status: 'pending' })
  respondJson(call.response, 200, { count: found.length })
}

function inBounds(fields: Fields, name: string, fallback: number, most: number): number {
  const value = integerField(fields, name, 'query') ?? fallback
  if (value >= 1 && value <= most) return value
  throw fieldError('query', name, 'value_error', `Input should be between 1 and ${most}`)
}

/** Those that wait; for a given run also those that were decided. */
async function approvalsFor(call: Call, os: AgentOs, fields: Fields): Promise<AskedApproval[]> {
  const runId = textField(fields, 'run_id')
  const asked = runId === undefined ? await pendingApprovals(call, os) : await approvalsOf(call, os, runId)
  return asked.filter((each) => fits(os, each, fields))
}

async function pendingApprovals({ principal }: Call, os: AgentOs): Promise<AskedApproval[]> {
  const found: AskedApproval[] = []
  let examined = 0
  for (let after: string | undefined; ;) {
    const limit = os.service.limits.maxPageRuns
    const page = await os.service.list(principal, { status: ['paused'], limit, ...(after !== undefined && { after }) })
    for (const { run } of page.runs) found.push(...pendingOf(run).map((approval) => ({ run, approval })))
    examined += page.runs.length
    after = page.cursor
    if (after === undefined || examined >= EXAMINED_MAX) return found
  }
}

async function approvalsOf({ principal }: Call, os: AgentOs, id: string): Promise<AskedApproval[]> {
  const own = await os.service.get(principal, id).catch((cause: unknown) => {
    if (isHoldfastError(cause, 'not_found')) return undefined
    throw cause
  })
  const stored = own ?? (await os.service.findStarted(principal, keyOfRunId(id)))
  if (stored === undefined) return []
  const { run } = stored
  const approvals = await foldRun(os.service, principal, run.id, approvalsProjection)
  return approvals.map((approval) => ({ run, approval }))
}

function fits(os: AgentOs, { run, approval }: AskedApproval, fields: Fields): boolean {
  const wanted = (name: string): string | undefined => textField(fields, name)
  const is = (name: string, value: unknown): boolean => wanted(name) === undefined || wanted(name) === value
  const kind = os.service.components().find(({ id }) => id === run.component)?.kind ?? 'agent'
  const isOfFamily = Object.values(families).every((family) =>
    is(family.idField, family.kind === kind ? run.component : undefined),
  )
  return (
    isOfFamily &&
    is('status', approval.status) &&
    is('approval_type', 'required') &&
    is('pause_type', 'confirmation') &&
    is('source_type', kind) &&
    is('user_id', ownMetadata(run.metadata)['user_id'])
  )
}

async function named(call: Call, os: AgentOs): Promise<AskedApproval> {
  const about = approvalNamed(call.params['approval']!)
  const asked = about === undefined ? [] : await approvalsOf(call, os, about.run)
  const found = asked.find(({ approval }) => approval.question.id === about?.question)
  if (found === undefined) throw new HoldfastError('not_found', 'Approval not found')
  return found
}

function shown(os: AgentOs, { run, approval }: AskedApproval): object {
  return shownApproval(
    os.service.components().find(({ id }) => id === run.component),
    run,
    approval,
  )
}

function respondApproval({ response }: Call, os: AgentOs, asked: AskedApproval): void {
  respondJson(response, 200, shown(os, asked))
}

async function getStatus(call: Call, os: AgentOs): Promise<void> {
  const body = shown(os, await named(call, os)) as Fields
  const { status, run_id, resolved_at, resolved_by } = body
  respondJson(call.response, 200, { approval_id: body['id'], status, run_id, resolved_at, resolved_by })
}

/** The run continues immediately; `/continue` without answers then responds with the rest of it. */
async function resolve(call: Call, os: AgentOs): Promise<void> {
  const body = ((await readJson(call.request, os.service.limits.maxBodyBytes)) ?? {}) as Fields
  const { status } = body
  if (status !== 'approved' && status !== 'rejected')
    throw fieldError('body', 'status', 'string_pattern_mismatch', "String should be 'approved' or 'rejected'")
  const { run, approval } = await named(call, os)
  if (approval.status !== 'pending')
    throw new HoldfastError('conflict', `Approval is already '${approval.status}' and cannot be resolved`)
  const others = (run.waiting ?? []).filter(({ id }) => id !== approval.question.id)
  if (others.length > 0)
    throw new HoldfastError(
      'conflict',
      `the run has ${others.length} more open questions: answer all of them by /continue`,
    )
  const answer = status === 'approved' ? true : { approved: false, ...reasonIn(body) }
  await os.service.answer(call.principal, run.id, { [approval.question.id]: answer })
  respondApproval(call, os, await named(call, os))
}

function reasonIn({ resolution_data: data }: Fields): { readonly reason?: string } {
  const { reason } = (typeof data === 'object' && data !== null ? data : {}) as { reason?: unknown }
  return typeof reason === 'string' && reason !== '' ? { reason } : {}
}
