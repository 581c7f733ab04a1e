/** The runs of a session, folded, oldest first. A session that was forked begins with the runs of the one it was forked from. */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import { type Document, SESSIONS } from '../../../core/model/document.ts'
import { comesBefore, cursorOf, type Position } from '../../../core/model/page.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Run, RunStatus } from '../../../core/model/run.ts'
import { jsonBytes, respondJson } from '../../../http/respond.ts'
import type { Call } from '../../../http/route.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import type { State } from './state.ts'

export interface RunsQuery<Shown> {
  readonly component?: string
  /** Runs of any of these. Default: all. */
  readonly statuses?: readonly RunStatus[]
  /** In milliseconds; runs of that moment are among them. Default: runs of any time. */
  readonly createdAfter?: number
  readonly createdBefore?: number
  /** What is shown of each. */
  readonly show: (state: State) => Shown
}

export interface ShownRuns<Shown> {
  readonly runs: readonly Shown[]
  /** False when runs were left out because the answer would be too large, or have more of them than a page. */
  readonly whole: boolean
}

/** A session that was forked from one that was forked … */
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
): Promise<ShownRuns<Shown>> {
  const newestFirst: Shown[] = []
  let bytesLeft = os.service.limits.responseBytesMax
  const listed = await listRuns(os, principal, session, filters)
  let { whole } = listed
  for (const { id } of listed.runs) {
    const state = await os.fold(principal, id).catch((cause: unknown) => {
      if (isHoldfastError(cause, 'too_large')) whole = false
      else if (!isHoldfastError(cause, 'not_found') && !isHoldfastError(cause, 'cursor_expired')) throw cause
      return undefined
    })
    if (state === undefined) continue
    const shown = show(state)
    bytesLeft -= jsonBytes(shown)
    if (bytesLeft < 0 && newestFirst.length > 0) return { runs: newestFirst.toReversed(), whole: false }
    newestFirst.push(shown)
  }
  return { runs: newestFirst.toReversed(), whole }
}

/** A list has no place of its own to say that it is not whole: a header says it. Clients get the rest by `created_before`. */
export function respondRuns({ response }: Call, { runs, whole }: ShownRuns<object>): void {
  respondJson(response, 200, runs, { 'holdfast-whole': String(whole) })
}

/** Newest first. The store filters, so that runs that are not asked for take none of the places on the page. */
async function listRuns(
  os: AgentOs,
  principal: Principal,
  session: string,
  { component, statuses, createdAfter = -Infinity, createdBefore }: Omit<RunsQuery<unknown>, 'show'>,
): Promise<ShownRuns<Run>> {
  const most = os.service.limits.pageRunsMax
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

/** Where a listing begins that has the runs up to a position and a time. */
function startOf(last: Position | undefined, createdBefore: number | undefined): { readonly after?: string } {
  const starts = [
    ...(last === undefined ? [] : [{ createdAt: last.createdAt, id: `${last.id}${LEAST_CHARACTER}` }]),
    ...(createdBefore === undefined ? [] : [{ createdAt: timeAfter(createdBefore), id: LEAST_CHARACTER }]),
  ]
  const [start] = starts.toSorted((a, b) => (comesBefore(a, b) ? 1 : -1))
  return start === undefined ? {} : { after: cursorOf(start) }
}

/** Before the ids of all runs, and with it behind an id comes after that id and before all others. */
const LEAST_CHARACTER = '!'

/** As runs have it: in the years that have four digits. */
function timeAfter(milliseconds: number): string {
  return new Date(Math.min(Math.max(milliseconds + 1, 0), TIME_MAX)).toISOString()
}

const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/** One run of a session, found without a look at the others. */
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
  /** The last of its runs that is part of the fork; all are where this is absent. */
  readonly last: Position | undefined
}

function isPartOf(run: Run, last: Position | undefined): boolean {
  return last === undefined || !comesBefore(run, last)
}

/** A session, then the one it was forked from, and so on. */
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
  /** The last run of the origin that is part of the fork; none is where the origin had none. */
  readonly last?: Position
}

export function forkOrigin({ body }: Document): ForkOrigin | undefined {
  return ((body ?? {}) as { agentos?: { forkedFrom?: ForkOrigin } }).agentos?.forkedFrom
}
