/**
 * Long-poll for the list of runs: a client sends its version and gets a response when the list changes. An open console costs one
 * pending request and at most one store query per second.
 */
import { createHash } from 'node:crypto'
import type { Principal } from '../../core/model/principal.ts'
import { isFinished, terminalStatuses, type RunStatus } from '../../core/model/run.ts'
import type { ListRequest, Service } from '../../core/service.ts'
import type { StoredRunPage, StoredRun } from '../../core/ports/store.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { respondJson } from '../../http/response/respond.ts'
import type { Call } from '../../http/routing/route.ts'
import { type SearchPage, searchRuns } from './search-runs.ts'

const LOOK_MS = 1000
/** Poll less often if a selective filter makes queries slow. */
const RESTS_PER_LOOK = 20
const PAGE_RUNS_MAX = 100
/** Cache of finished runs' token counts, which no longer change. */
const REMEMBERED_MAX = 10_000
const STATUSES: readonly string[] = ['queued', 'running', 'paused', ...terminalStatuses]

export class LiveRuns {
  readonly #service: Service
  readonly #tokens = new Map<string, number | null>()

  constructor(service: Service) {
    this.#service = service
  }

  async serve(call: Call): Promise<void> {
    const request = readRequest(call.query)
    const search = (call.query.get('search') ?? '').trim().slice(0, this.#service.limits.maxNameChars)
    const known = call.query.get('known')
    const until = performance.now() + this.#service.limits.longPollTimeoutMs
    for (let restMs = LOOK_MS; ;) {
      // Wait first, because a streaming run changes with every token.
      if (known !== null) await pauseFor(restMs, call.signal)
      const began = performance.now()
      const page = await this.#page(call.principal, request, search)
      restMs = Math.max(LOOK_MS, (performance.now() - began) * RESTS_PER_LOOK)
      // Only the listed runs: the end of a search moves with every new run.
      const listed = JSON.stringify([page.runs, page.cursor !== undefined])
      const version = createHash('sha256').update(listed).digest('base64url').slice(0, 16)
      const over = known === null || performance.now() >= until || call.signal.aborted || this.#service.isClosed
      if (over || version !== known) return respondJson(call.response, 200, { version, ...page })
    }
  }

  async #page(principal: Principal, request: ListRequest, search: string): Promise<Rows> {
    const list = (asked: ListRequest): Promise<StoredRunPage> => this.#service.list(principal, asked)
    const { runs, ...page } = await (search === '' ? list(request) : searchRuns(list, request, search))
    return { ...page, runs: await Promise.all(runs.map((stored) => this.#row(principal, stored))) }
  }

  async #row(principal: Principal, { run, next }: StoredRun): Promise<object> {
    const { id, component, session, status, createdAt, startedAt, finishedAt, attempt, protocol } = run
    const tokens = isFinished(status) ? await this.#tokensOf(principal, id) : null
    const row = { id, component, session, status, createdAt, startedAt, finishedAt, attempt, protocol, events: next }
    return tokens === null ? row : { ...row, tokens }
  }

  async #tokensOf(principal: Principal, id: string): Promise<number | null> {
    const known = this.#tokens.get(id)
    if (known !== undefined) return known
    const tokens = await this.#readTokens(principal, id)
    if (this.#tokens.size >= REMEMBERED_MAX) this.#tokens.delete(this.#tokens.keys().next().value!)
    this.#tokens.set(id, tokens)
    return tokens
  }

  async #readTokens(principal: Principal, id: string): Promise<number | null> {
    try {
      const outcome = await this.#service.outcome(principal, id)
      const usage = outcome !== undefined && 'usage' in outcome.data ? outcome.data.usage : undefined
      if (usage === undefined) return null
      return usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
    } catch (cause) {
      // Removed since it was listed.
      if (cause instanceof HoldfastError && cause.code === 'not_found') return null
      throw cause
    }
  }
}

type Rows = Omit<StoredRunPage, 'runs'> & Partial<Pick<SearchPage, 'searched'>> & { readonly runs: readonly object[] }

function readRequest(query: URLSearchParams): ListRequest {
  const [component, session, after] = ['component', 'session', 'cursor'].map((name) => query.get(name) || undefined)
  const status = (query.get('status') ?? '').split(',').filter((name) => name !== '')
  const unknown = status.find((name) => !STATUSES.includes(name))
  if (unknown !== undefined)
    throw new HoldfastError(
      'invalid_request',
      `status is ${JSON.stringify(unknown.slice(0, 100))}; use ${STATUSES.join(', ')}`,
    )
  return {
    limit: Math.min(Math.max(Number.parseInt(query.get('limit') ?? '', 10) || 50, 1), PAGE_RUNS_MAX),
    ...(component !== undefined && { component }),
    ...(session !== undefined && { session }),
    ...(after !== undefined && { after }),
    ...(status.length > 0 && { status: status as RunStatus[] }),
  }
}

function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, signal.aborted ? 0 : ms)
    signal.addEventListener('abort', done)
  })
}
