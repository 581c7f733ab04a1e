/**
 * Deletes everything that a principal has in a store: runs with their logs and idempotency keys, sessions, webhooks, share links and all
 * other documents. Every step is idempotent, so the next call completes one that was interrupted.
 */
import { type Clock, elapsedOf } from '../ports/clock.ts'
import { HoldfastError } from '../model/errors.ts'
import { defaultLimits } from '../model/limits.ts'
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { startTimer } from '../runtime/timer.ts'
import type { DocumentName } from '../ports/store-transfer.ts'
import { isFinished, unfinishedStatuses } from '../model/run.ts'
import type { Store, StoredRun } from '../ports/store.ts'

export interface ForgetRequest {
  /** Only count. */
  readonly dryRun: boolean
  /** Stop runs that have not ended; otherwise they are refused. */
  readonly stop: boolean
  /** Called with what was removed so far, and from time to time while waiting for runs. */
  readonly onProgress?: (removed: RemovalCount) => void
  /** Aborts between two steps. */
  readonly signal?: AbortSignal
}

export interface RemovalCount {
  readonly runs: number
  /** Sessions included. */
  readonly documents: number
}

/** What was removed, or is to be removed. */
export interface ForgetReport extends RemovalCount {
  /** How many of the runs had not ended. */
  readonly unfinished: number
}

export interface ForgetParts {
  readonly store: Store
  readonly clock: Clock
  readonly owner: string
  /** Called first, once nothing prevents the removal. */
  readonly removeCredentials: () => Promise<void>
  /** Ends runs without a worker while `wait` waits for them. */
  readonly whileStopping?: (wait: () => Promise<void>) => Promise<void>
}

const PAGE = 100
/** Maximum removal rounds: a principal that keeps starting runs cannot be forgotten. */
const ROUNDS_MAX = 10
const POLL_MS = 50
/** Time within which a stop is carried out, even if the agent ignores it or its worker has died. */
const STOP_MS = defaultLimits.stopGraceMs + 2 * defaultLimits.leaseMs + defaultLimits.pollIntervalMs

export async function forgetOwner(deps: ForgetParts, request: ForgetRequest): Promise<ForgetReport> {
  const { store, owner, removeCredentials, whileStopping = (wait) => wait() } = deps
  const unfinished = await unfinishedOf(store, owner)
  const { runs, documents } = await store.usage.of(owner)
  if (request.dryRun) return { runs, unfinished: unfinished.length, documents }
  if (unfinished.length > 0 && !request.stop) throw notEnded(unfinished)
  await removeCredentials()
  if (unfinished.length > 0) await whileStopping(() => stopAll(deps, request, unfinished))
  const removed = { runs: 0, documents: 0 }
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = removed.runs + removed.documents
    await removeRuns(deps, request, removed)
    await removeDocuments(deps, request, removed)
    if (removed.runs + removed.documents === before) return { ...removed, unfinished: unfinished.length }
  }
  throw new HoldfastError('conflict', 'the principal keeps starting runs: revoke its credentials, then forget it again')
}

async function unfinishedOf(store: Store, owner: string): Promise<readonly StoredRun[]> {
  const found: StoredRun[] = []
  for (let after: string | undefined; ;) {
    await shareEventLoop()
    const page = await store.list({
      owner,
      status: unfinishedStatuses,
      limit: PAGE,
      ...(after !== undefined && { after }),
    })
    found.push(...page.runs.filter(({ damage }) => damage === undefined))
    if (page.cursor === undefined) return found
    after = page.cursor
  }
}

async function stopAll(
  { store, clock }: ForgetParts,
  request: ForgetRequest,
  unfinished: readonly StoredRun[],
): Promise<void> {
  const stop = { at: new Date(clock.now()).toISOString(), reason: 'the principal is deleted' }
  for (const { run } of unfinished) await store.requestStop(run.id, stop)
  const deadline = elapsedOf(clock) + STOP_MS
  for (const { run } of unfinished) {
    for (let stored = await store.get(run.id); stored !== undefined; stored = await store.get(run.id)) {
      if (isFinished(stored.run.status) || stored.damage !== undefined) break
      if (elapsedOf(clock) > deadline) throw notEnded([stored])
      report(request, { runs: 0, documents: 0 })
      await new Promise<void>((resolve) => startTimer(resolve, POLL_MS, clock))
    }
  }
}

interface Counts {
  runs: number
  documents: number
}

async function removeRuns({ store, owner }: ForgetParts, request: ForgetRequest, removed: Counts): Promise<void> {
  for (;;) {
    await shareEventLoop()
    const { runs } = await store.list({ owner, limit: PAGE })
    if (runs.length === 0) return
    const started = runs.filter(({ run, damage }) => !isFinished(run.status) && damage === undefined)
    if (started.length > 0) throw notEnded(started)
    await Promise.all(runs.map(({ run }) => store.remove(run.id)))
    removed.runs += runs.length
    report(request, removed)
  }
}

/** Documents are indexed by collection and not by owner, so this scans all of them. */
async function removeDocuments({ store, owner }: ForgetParts, request: ForgetRequest, removed: Counts): Promise<void> {
  if ((await store.usage.of(owner)).documents === 0) return
  for (let after: DocumentName | undefined; ;) {
    await shareEventLoop()
    const page = await store.transfer.documents(PAGE, after)
    const own = page.filter((document) => document.owner === owner)
    await Promise.all(own.map(({ collection, id }) => store.documents.remove(owner, collection, id)))
    removed.documents += own.length
    report(request, removed)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = { owner: last.owner, collection: last.collection, id: last.id }
  }
}

function report({ onProgress, signal }: ForgetRequest, removed: RemovalCount): void {
  onProgress?.({ ...removed })
  signal?.throwIfAborted()
}

function notEnded(unfinished: readonly StoredRun[]): HoldfastError {
  const [first] = unfinished
  const what = unfinished.length === 1 ? `run ${first!.run.id} has` : `${unfinished.length} runs have`
  return new HoldfastError('conflict', `${what} not ended: wait for the end, or stop them (--stop)`, {
    details: { runs: unfinished.length },
  })
}
