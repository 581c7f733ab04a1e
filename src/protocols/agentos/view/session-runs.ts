/** The folded runs of a session, oldest first. A fork starts with the runs of its origin. */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import { type Document, SESSIONS } from '../../../core/model/document.ts'
import { comesBefore, cursorOf, type Position } from '../../../core/model/page.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Run, RunStatus } from '../../../core/model/run.ts'
import { jsonBytes, respondJson } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import type { State } from './state.ts'

export interface RunsQuery<Shown> {
  readonly component?: string
  /** Default: all. */
  readonly statuses?: readonly RunStatus[]
  /** In milliseconds, inclusive. Default: no limit. */
  readonly createdAfter?: number
  readonly createdBefore?: number
  /** Renders a run. */
  readonly show: (state: State) => Shown
}

export interface RunExcerpts<Shown> {
  readonly runs: readonly Shown[]
  /** False if runs were omitted because of the size or page limit. */
  readonly whole: boolean
}

/** Maximum chain of forks. */
const FORKS_MAX = 8

export async function sessionOf(os: AgentOs, principal: Principal, id: string): Promise<Document> {
  const found = await os.service.documents(principal).get(SESSIONS, id)
  if (found === undefined) throw noSession()
  return found
}

export function noSession(): HoldfastError {
  return new HoldfastError('not_found', 'Session not found')
}

/** The newest ones: as many as one page of a listing has, and as one answer holds. */
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
    const excerpt = show(state)
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

/** Newest first. Filtered by the store, so that pages are full. */
async function listRuns(
  os: AgentOs,
  principal: Principal,
  session: string,
  { component, statuses, createdAfter = -Infinity, createdBefore }: Omit<RunsQuery<unknown>, 'show'>,
): Promise<RunExcerpts<Run>> {
  const most = os.service.limits.maxPageRuns
  const found: Run[] = []
  let whole = true
  const asked = await sessionOf(os, principal, session)
  if (statuses?.length === 0) return { runs: [], whole }
  for await (const { id, last } of lineage(os, principal, asked)) {
    const { runs, cursor } = await os.service.list(principal, {
      session: id,
      limit: most,
      ...(component !== undefined && { component }),
      ...(statuses !== undefined && { status: statuses }),
      ...startOf(last, createdBefore),
    })
    const wanted = runs.map(({ run }) => run).filter((run) => Date.parse(run.createdAt) >= createdAfter)
    found.push(...wanted)
    whole &&= cursor === undefined || wanted.length < runs.length
  }
  return { runs: found.slice(0, most), whole: whole && found.length <= most }
}

/** Start of a listing up to a position and time. */
function startOf(last: Position | undefined, createdBefore: number | undefined): { readonly after?: string } {
  const starts = [
    ...(last === undefined ? [] : [{ createdAt: last.createdAt, id: `${last.id}${LEAST_CHARACTER}` }]),
    ...(createdBefore === undefined ? [] : [{ createdAt: timeAfter(createdBefore), id: LEAST_CHARACTER }]),
  ]
  const [start] = starts.toSorted((a, b) => (comesBefore(a, b) ? 1 : -1))
  return start === undefined ? {} : { after: cursorOf(start) }
}

/** Sorts before all run ids; appended to an id, sorts right after it. */
const LEAST_CHARACTER = '!'

/** In the format of runs, with four-digit years. */
function timeAfter(milliseconds: number): string {
  return new Date(Math.min(Math.max(milliseconds + 1, 0), TIME_MAX)).toISOString()
}

const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/** Finds one run of a session without reading the others. */
export async function runOf(os: AgentOs, principal: Principal, session: Document, id: string): Promise<State> {
  const missing = (cause: unknown): never => {
    throw isHoldfastError(cause, 'not_found') || isHoldfastError(cause, 'cursor_expired') ? runNotFound() : cause
  }
  const { run } = await os.service.get(principal, id).catch(missing)
  for await (const { id: ancestor, last } of lineage(os, principal, session))
    if (run.session === ancestor && isPartOf(run, last)) return os.fold(principal, id).catch(missing)
  throw runNotFound()
}

function runNotFound(): HoldfastError {
  return new HoldfastError('not_found', 'Run not found')
}

interface Ancestor {
  readonly id: string
  /** Last run included in the fork. Default: all. */
  readonly last: Position | undefined
}

function isPartOf(run: Run, last: Position | undefined): boolean {
  return last === undefined || !comesBefore(run, last)
}

/** A session, its origin, the origin's origin, and so on. */
async function* lineage(os: AgentOs, principal: Principal, session: Document): AsyncGenerator<Ancestor> {
  let last: Position | undefined
  for (let at: Document | undefined = session, depth = 0; at !== undefined && depth <= FORKS_MAX; depth++) {
    yield { id: at.id, last }
    const origin: ForkOrigin | undefined = forkOrigin(at)
    last = origin?.last
    at = last === undefined ? undefined : await os.service.documents(principal).get(SESSIONS, origin!.session)
  }
}

export interface ForkOrigin {
  readonly session: string
  /** Last run of the origin included in the fork; absent if it had none. */
  readonly last?: Position
}

export function forkOrigin({ body }: Document): ForkOrigin | undefined {
  return ((body ?? {}) as { agentos?: { forkedFrom?: ForkOrigin } }).agentos?.forkedFrom
}
