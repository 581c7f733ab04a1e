/** Lists tasks by status time, newest first. Keyset pagination, so that changing tasks do not hide others. */
import type { Principal } from '../../../core/model/principal.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Service } from '../../../core/service.ts'
import { invalidParams } from '../wire/errors.ts'
import { stateOf } from '../view/states.ts'
import type { ListRequest } from '../wire/wire.ts'

export interface RunList {
  readonly runs: readonly Run[]
  readonly nextPageToken: string
  readonly pageSize: number
  readonly totalSize: number
}

const PAGE_SIZE = 50
const PAGE_SIZE_MAX = 100
/** Maximum runs of a component per listing; the newest ones. */
const RUNS_MAX = 10_000

/** `belongs`: whether a run is a task of this caller. */
export async function listRuns(
  service: Service,
  principal: Principal,
  component: string,
  request: ListRequest,
  belongs: (run: Run) => boolean,
): Promise<RunList> {
  const { pageSize = PAGE_SIZE, pageToken = '' } = request
  if (pageSize < 1 || pageSize > PAGE_SIZE_MAX)
    throw invalidParams(`pageSize must be a number from 1 to ${PAGE_SIZE_MAX}`, [
      { field: 'pageSize', description: 'out of range' },
    ])
  const position = pageToken === '' ? undefined : parsePosition(pageToken)
  const found: Run[] = []
  for await (const run of runsOf(service, principal, component, request.contextId))
    if (belongs(run) && matches(run, request)) found.push(run)
  found.sort((left, right) => (isBefore(left, right) ? -1 : 1))
  const rest = position === undefined ? found : found.filter((run) => isBefore(position, run))
  const runs = rest.slice(0, pageSize)
  const last = runs.at(-1)
  return {
    runs,
    nextPageToken: last === undefined || runs.length === rest.length ? '' : pageTokenAfter(last),
    pageSize,
    totalSize: found.length,
  }
}

async function* runsOf(service: Service, principal: Principal, component: string, session = ''): AsyncGenerator<Run> {
  const query = { component, limit: service.limits.maxPageRuns, ...(session !== '' && { session }) }
  for (let after: string | undefined, count = 0; count < RUNS_MAX;) {
    const page = await service.list(principal, { ...query, ...(after !== undefined && { after }) })
    for (const { run } of page.runs) yield run
    count += page.runs.length
    if (page.cursor === undefined) return
    after = page.cursor
  }
}

function matches(run: Run, { status = 'TASK_STATE_UNSPECIFIED', statusTimestampAfter }: ListRequest): boolean {
  if (status !== 'TASK_STATE_UNSPECIFIED' && stateOf(run) !== status) return false
  return statusTimestampAfter === undefined || Date.parse(run.updatedAt) >= parseTime(statusTimestampAfter)
}

function parseTime(text: string): number {
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw invalidParams('statusTimestampAfter is not a time', [
    { field: 'statusTimestampAfter', description: 'not RFC 3339' },
  ])
}

type TaskPosition = Pick<Run, 'updatedAt' | 'id'>

function isBefore(left: TaskPosition, right: TaskPosition): boolean {
  return left.updatedAt > right.updatedAt || (left.updatedAt === right.updatedAt && left.id > right.id)
}

/** Page token for the tasks after one. */
export function pageTokenAfter({ updatedAt, id }: TaskPosition): string {
  return Buffer.from(JSON.stringify([updatedAt, id])).toString('base64url')
}

function parsePosition(token: string): TaskPosition {
  try {
    const [updatedAt, id, ...rest] = JSON.parse(Buffer.from(token, 'base64url').toString()) as unknown[]
    if (typeof updatedAt === 'string' && typeof id === 'string' && rest.length === 0) return { updatedAt, id }
  } catch {
    // malformed token; reported below
  }
  throw invalidParams('pageToken is invalid: use the nextPageToken of a page', [
    { field: 'pageToken', description: 'unknown' },
  ])
}
