/** The runs of a session, folded, oldest first. A session that was forked begins with the runs of the one it was forked from. */
import { HoldfastError, isHoldfastError } from '../../core/errors.ts'
import { type Document, SESSIONS } from '../../core/document.ts'
import { comesBefore, type Position } from '../../core/page.ts'
import type { Principal } from '../../core/principal.ts'
import type { AgentOs } from './os.ts'
import type { State } from './state.ts'

export interface RunsFilter {
  readonly component?: string
}

/** A session that was forked from one that was forked … */
const FORKS_MAX = 8

export async function sessionOf(os: AgentOs, principal: Principal, id: string): Promise<Document> {
  const found = await os.service.documents(principal).get(SESSIONS, id)
  if (found === undefined) throw new HoldfastError('not_found', 'Session not found')
  return found
}

/** The newest ones, as many as one page of a listing has. */
export async function runsOf(
  os: AgentOs,
  principal: Principal,
  session: string,
  { component }: RunsFilter = {},
): Promise<State[]> {
  const ids = await runIds(os, principal, await sessionOf(os, principal, session), component)
  const states: State[] = []
  for (const id of ids) {
    const state = await os.fold(principal, id).catch((cause: unknown) => {
      if (isHoldfastError(cause, 'not_found') || isHoldfastError(cause, 'cursor_expired')) return undefined
      throw cause
    })
    if (state !== undefined) states.push(state)
  }
  return states
}

async function runIds(
  os: AgentOs,
  principal: Principal,
  session: Document,
  component: string | undefined,
): Promise<string[]> {
  const most = os.service.limits.pageRunsMax
  const ids: string[] = []
  let last: Position | undefined
  for (let at: Document | undefined = session, depth = 0; at !== undefined && depth <= FORKS_MAX; depth++) {
    const { runs } = await os.service.list(principal, {
      session: at.id,
      limit: most,
      ...(component !== undefined && { component }),
    })
    const shown = runs.filter(({ run }) => last === undefined || !comesBefore(run, last))
    ids.push(...shown.map(({ run }) => run.id))
    const origin: ForkOrigin | undefined = forkOrigin(at)
    last = origin?.last
    at = last === undefined ? undefined : await os.service.documents(principal).get(SESSIONS, origin!.session)
  }
  return ids.slice(0, most).toReversed()
}

export interface ForkOrigin {
  readonly session: string
  /** The last run of the origin that is part of the fork; none is where the origin had none. */
  readonly last?: Position
}

export function forkOrigin({ body }: Document): ForkOrigin | undefined {
  return ((body ?? {}) as { agentos?: { forkedFrom?: ForkOrigin } }).agentos?.forkedFrom
}
