/** The folded runs of a session, oldest first. A fork starts with the runs of its origin. */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import { type Document, SESSIONS } from '../../../core/model/document.ts'
import { beginningOf, comesBefore, cursorOf, justBefore, oldestOf, type Position } from '../../../core/model/page.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Run } from '../../../core/model/run.ts'
import { type Ancestor, sessionLineage } from '../../../core/sessions/session-fork.ts'
import { jsonBytes, respondJson } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import { statusesNamed, statusName } from '../wire/families.ts'
import type { State } from './state.ts'

export interface RunsQuery<Shown> {
  readonly component?: string
  /** Names of statuses in AgentOS. Default: all. */
  readonly statuses?: readonly string[]
  /** In milliseconds, inclusive. Default: no limit. */
  readonly createdAfter?: number
  readonly createdBefore?: number
  readonly show: Show<Shown>
}

/** Renders a run. `replaced`: another run regenerated its response and replaces it in the session. */
export type Show<Shown> = (state: State, replaced: boolean) => Shown

export interface RunExcerpts<Shown> {
  readonly runs: readonly Shown[]
  /** False if runs were omitted because of the size or page limit. */
  readonly whole: boolean
}

export async function sessionOf(os: AgentOs, principal: Principal, id: string): Promise<Document> {
  const found = await os.service.documents(principal).get(SESSIONS, id)
  if (found === undefined) throw noSession()
  return found
}

export function noSession(): HoldfastError {
  return new HoldfastError('not_found', 'Session not found')
}

/** The newest runs within the limits of one page and one response. */
export async function runsOf<Shown>(
  os: AgentOs,
  principal: Principal,
  session: string,
  { show, ...filters }: RunsQuery<Shown>,
): Promise<RunExcerpts<Shown>> {
  const newestFirst: Shown[] = []
  let bytesLeft = os.service.limits.maxResponseBytes
  const listed = await listRuns(os, principal, session, filters)
  let { whole } = listed
  for (const { id } of listed.runs) {
    const state = await os.fold(principal, id).catch((cause: unknown) => {
      if (isHoldfastError(cause, 'too_large')) whole = false
      else if (!isHoldfastError(cause, 'not_found') && !isHoldfastError(cause, 'cursor_expired')) throw cause
      return undefined
    })
    if (state === undefined) continue
    const excerpt = show(state, listed.replaced.has(id))
    bytesLeft -= jsonBytes(excerpt)
    if (bytesLeft < 0 && newestFirst.length > 0) return { runs: newestFirst.toReversed(), whole: false }
    newestFirst.push(excerpt)
  }
  return { runs: newestFirst.toReversed(), whole }
}

/** A header marks an incomplete list. Clients get the rest with `created_before`. */
export function respondRuns({ response }: Call, { runs, whole }: RunExcerpts<object>): void {
  respondJson(response, 200, runs, { 'holdfast-whole': String(whole) })
}

interface ListedRuns extends RunExcerpts<Run> {
  /** Ids of runs whose responses were regenerated. */
  readonly replaced: ReadonlySet<string>
}

/** Newest first. Filtered by the store, so that pages are full. */
async function listRuns(
  os: AgentOs,
  principal: Principal,
  session: string,
  { component, statuses, createdAfter = -Infinity, createdBefore }: Omit<RunsQuery<unknown>, 'show'>,
): Promise<ListedRuns> {
  const most = os.service.limits.maxPageRuns
  const found: Run[] = []
  let whole = true
  const asked = await sessionOf(os, principal, session)
  const replaced = new Set<string>()
  const status = statuses === undefined ? undefined : statusesNamed(statuses)
  if (status?.length === 0) return { runs: [], whole, replaced }
  const fits = (run: Run): boolean =>
    Date.parse(run.createdAt) >= createdAfter &&
    (statuses === undefined || statuses.includes(statusName(run.status, replaced.has(run.id))))
  for await (const { id, last } of lineage(os, principal, asked.id)) {
    for (const each of await replacedIn(os, principal, id, last)) replaced.add(each)
    const { runs, cursor } = await os.service.list(principal, {
      session: id,
      limit: most,
      ...(component !== undefined && { component }),
      ...(status !== undefined && { status }),
      ...startOf(last, createdBefore),
    })
    const wanted = runs.map(({ run }) => run).filter(fits)
    found.push(...wanted)
    whole &&= cursor === undefined || Date.parse(runs.at(-1)!.run.createdAt) < createdAfter
  }
  return { runs: found.slice(0, most), whole: whole && found.length <= most, replaced }
}

/** The runs among the newest of a session whose responses were regenerated. A failed regeneration replaces nothing. */
async function replacedIn(
  os: AgentOs,
  principal: Principal,
  session: string,
  last: Position | undefined,
): Promise<string[]> {
  const limit = os.service.limits.maxPageRuns
  const { runs } = await os.service.list(principal, { session, limit, ...startOf(last, undefined) })
  return runs.flatMap(({ run: { branch, status } }) =>
    branch?.replaces === true && status !== 'failed' && status !== 'rejected' ? [branch.from] : [],
  )
}

/** Whether another run of the session regenerated a run's response. */
export async function isReplaced(os: AgentOs, principal: Principal, session: string, run: Run): Promise<boolean> {
  for await (const { id, last } of lineage(os, principal, session)) {
    if ((await replacedIn(os, principal, id, last)).includes(run.id)) return true
    if (id === run.session) return false
  }
  return false
}

/** Start of a listing up to a position and time. */
function startOf(last: Position | undefined, createdBefore: number | undefined): { readonly after?: string } {
  const start = oldestOf([
    ...(last === undefined ? [] : [justBefore(last)]),
    ...(createdBefore === undefined ? [] : [beginningOf(timeAfter(createdBefore))]),
  ])
  return start === undefined ? {} : { after: cursorOf(start) }
}

/** In the format of runs, with four-digit years. */
function timeAfter(milliseconds: number): string {
  return new Date(Math.min(Math.max(milliseconds + 1, 0), TIME_MAX)).toISOString()
}

const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/** Finds one run of a session without reading the others. */
export async function runOf(
  os: AgentOs,
  principal: Principal,
  session: Document,
  id: string,
): Promise<{ readonly state: State; readonly replaced: boolean }> {
  const missing = (cause: unknown): never => {
    throw isHoldfastError(cause, 'not_found') || isHoldfastError(cause, 'cursor_expired') ? runNotFound() : cause
  }
  const { run } = await os.service.get(principal, id).catch(missing)
  if (!(await isRunOf(os, principal, session.id, run))) throw runNotFound()
  const state = await os.fold(principal, id).catch(missing)
  return { state, replaced: await isReplaced(os, principal, session.id, run) }
}

/** Whether a run belongs to a session or to one of its origins. */
export async function isRunOf(os: AgentOs, principal: Principal, session: string, run: Run): Promise<boolean> {
  for await (const { id, last } of lineage(os, principal, session))
    if (run.session === id && (last === undefined || !comesBefore(run, last))) return true
  return false
}

function runNotFound(): HoldfastError {
  return new HoldfastError('not_found', 'Run not found')
}

function lineage(os: AgentOs, principal: Principal, session: string): AsyncGenerator<Ancestor> {
  return sessionLineage(session, (id) => os.service.documents(principal).get(SESSIONS, id))
}
