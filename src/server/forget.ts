/**
 * Deletes everything that a principal has in a store: runs with their logs and idempotency keys, sessions, webhooks and all other
 * documents. Every step can be repeated, so a run of it that was killed is finished by the next one.
 */
import { systemClock, systemIds } from '../core/clock.ts'
import { HoldfastError } from '../core/errors.ts'
import { defaultLimits } from '../core/limits.ts'
import { silentLogger } from '../core/logger.ts'
import type { DocumentName } from '../core/moving.ts'
import { Registry } from '../core/registry.ts'
import { isFinished, type RunStatus } from '../core/run.ts'
import { Service } from '../core/service.ts'
import type { Store, StoredRun } from '../core/store.ts'
import { workIdentity } from './work-identity.ts'

export interface ForgetOptions {
  /** Only count. */
  readonly dryRun: boolean
  /** Stop runs that have not ended; otherwise they are refused. */
  readonly stop: boolean
  /** Done first, once it is clear that nothing keeps the principal from being forgotten. */
  readonly beforeRemoval?: () => Promise<void>
  /** Told how many runs were removed so far. */
  readonly onProgress?: (runs: number) => void
}

export interface ForgetReport {
  /** Runs removed, or to be removed. */
  readonly runs: number
  /** Of them: those that had not ended. */
  readonly unfinished: number
  /** Sessions included. */
  readonly documents: number
}

const UNFINISHED: readonly RunStatus[] = ['queued', 'running', 'paused']
const PAGE = 100
/** A principal that goes on starting runs on other nodes cannot be forgotten. */
const ROUNDS_MAX = 10
const POLL_MS = 50
/** By then a stop is carried out, also where the agent ignores it or its worker has died. */
const STOP_MS = defaultLimits.stopGraceMs + 2 * defaultLimits.leaseMs + defaultLimits.pollMs

export async function forgetPrincipal(store: Store, owner: string, options: ForgetOptions): Promise<ForgetReport> {
  const unfinished = await unfinishedOf(store, owner)
  const { runs, documents } = await store.usage.of(owner)
  if (options.dryRun) return { runs, unfinished: unfinished.length, documents }
  if (unfinished.length > 0 && !options.stop) throw notEnded(unfinished)
  await options.beforeRemoval?.()
  if (unfinished.length > 0) await stopAll(store, unfinished)
  const removed = { runs: 0, documents: 0 }
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = removed.runs + removed.documents
    await removeRuns(store, owner, (count) => {
      removed.runs += count
      options.onProgress?.(removed.runs)
    })
    removed.documents += await removeDocuments(store, owner)
    if (removed.runs + removed.documents === before) return { ...removed, unfinished: unfinished.length }
  }
  throw new HoldfastError('conflict', 'the principal still starts runs: revoke its credentials, and run this again')
}

async function unfinishedOf(store: Store, owner: string): Promise<readonly StoredRun[]> {
  const found: StoredRun[] = []
  for (let after: string | undefined; ;) {
    const page = await store.list({ owner, status: UNFINISHED, limit: PAGE, ...(after !== undefined && { after }) })
    found.push(...page.runs.filter(({ damage }) => damage === undefined))
    if (page.cursor === undefined) return found
    after = page.cursor
  }
}

/** The node that executes a run stops it; where there is none, this process ends it without executing anything. */
async function stopAll(store: Store, unfinished: readonly StoredRun[]): Promise<void> {
  const service = new Service({
    store,
    registry: new Registry([]),
    clock: systemClock,
    ids: systemIds(),
    logger: silentLogger,
    limits: { runsConcurrentMax: 0, drainMs: 0 },
    ...workIdentity(store),
  })
  service.begin()
  try {
    const stop = { at: new Date().toISOString(), reason: 'the principal is deleted' }
    for (const { run } of unfinished) await store.requestStop(run.id, stop)
    const deadline = performance.now() + STOP_MS
    for (const { run } of unfinished) {
      for (let stored = await store.get(run.id); stored !== undefined; stored = await store.get(run.id)) {
        if (isFinished(stored.run.status) || stored.damage !== undefined) break
        if (performance.now() > deadline) throw notEnded([stored])
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      }
    }
  } finally {
    await service.drain()
  }
}

async function removeRuns(store: Store, owner: string, onRemoved: (count: number) => void): Promise<void> {
  for (;;) {
    const { runs } = await store.list({ owner, limit: PAGE })
    if (runs.length === 0) return
    const started = runs.filter(({ run, damage }) => !isFinished(run.status) && damage === undefined)
    if (started.length > 0) throw notEnded(started)
    await Promise.all(runs.map(({ run }) => store.remove(run.id)))
    onRemoved(runs.length)
  }
}

/** Documents are kept by collection, whoever owns them, so all are looked at. */
async function removeDocuments(store: Store, owner: string): Promise<number> {
  if ((await store.usage.of(owner)).documents === 0) return 0
  let removed = 0
  for (let after: DocumentName | undefined; ;) {
    const page = await store.moving.documents(PAGE, after)
    const own = page.filter((document) => document.owner === owner)
    await Promise.all(own.map(({ collection, id }) => store.documents.remove(owner, collection, id)))
    removed += own.length
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return removed
    after = { owner: last.owner, collection: last.collection, id: last.id }
  }
}

function notEnded(unfinished: readonly StoredRun[]): HoldfastError {
  const [first] = unfinished
  const what = unfinished.length === 1 ? `run ${first!.run.id} has` : `${unfinished.length} runs have`
  return new HoldfastError('conflict', `${what} not ended: wait for the end, or stop with --stop`, {
    details: { runs: unfinished.length },
  })
}
