/** The content that a store must have after a crash, from what it had acknowledged before. */
import { isHoldfastError } from '../../src/core/model/errors.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'

/** A line of the workload. */
export type Step =
  | { readonly did: 'append'; readonly run: string; readonly next: number }
  | { readonly did: 'remove'; readonly run: string }
  | { readonly begins: 'remove'; readonly run: string }
  | { readonly begins: 'trim'; readonly run: string; readonly first: number }

/** Every record that the workload ever wrote, by run. */
export type Records = Readonly<Record<string, readonly string[]>>

interface Acknowledged {
  next: number
  /** Events before this one may be missing. */
  trimmedTo: number
  removal?: 'begun' | 'done'
}

/** The expected content of a store that crashed after these steps. */
export class Expectation {
  readonly #runs = new Map<string, Acknowledged>()

  note(step: Step): void {
    const known = this.#runs.get(step.run) ?? { next: 0, trimmedTo: 0 }
    this.#runs.set(step.run, known)
    if ('did' in step && step.did === 'append') known.next = Math.max(known.next, step.next)
    else if ('did' in step) known.removal = 'done'
    else if (step.begins === 'trim') known.trimmedTo = Math.max(known.trimmedTo, step.first)
    else known.removal ??= 'begun'
  }

  /** Problems of the store at this path; empty if there are none. */
  async problemsOf(path: string, records: Records): Promise<readonly string[]> {
    const store = await openSqliteStore({ path }).catch((cause: unknown) => `it does not open: ${String(cause)}`)
    if (typeof store === 'string') return [store]
    try {
      const problems: string[] = []
      const { alarms = [] } = store.health() as { alarms?: readonly string[] }
      problems.push(...alarms.map((alarm) => `alarm: ${alarm}`))
      for (const [run, known] of this.#runs) problems.push(...(await problemsOfRun(store, run, known, records)))
      for (const { run } of (await store.list({ limit: 1000 })).runs)
        if (records[run.id] === undefined) problems.push(`run ${run.id} is listed, and was never created`)
      return [...problems, ...(await problemsOfNewRun(store))]
    } finally {
      await store.close()
    }
  }
}

async function problemsOfRun(
  store: Store,
  id: string,
  { next, trimmedTo, removal }: Acknowledged,
  records: Records,
): Promise<readonly string[]> {
  const stored = await store.get(id)
  if (removal === 'done') return stored === undefined ? [] : [`run ${id} is back after its removal`]
  if (stored === undefined) return removal === 'begun' || next === 0 ? [] : [`run ${id} is gone`]
  if (stored.next < next) return [`run ${id} has ${stored.next} events, and ${next} were acknowledged`]
  if (stored.first > trimmedTo) return [`run ${id} begins at ${stored.first}, and was trimmed to ${trimmedTo}`]
  const wanted = records[id]!.slice(stored.first, stored.next)
  const found = await readRecords(store, id).catch((cause: unknown) => [
    isHoldfastError(cause) ? cause.code : String(cause),
  ])
  const at = wanted.findIndex((record, index) => record !== found[index])
  if (at >= 0) return [`run ${id} has at ${stored.first + at} not what was written: ${String(found[at]).slice(0, 100)}`]
  return found.length === wanted.length ? [] : [`run ${id} has ${found.length - wanted.length} events too many`]
}

/** The store accepts a new run, and its log has no other records. */
async function problemsOfNewRun(store: Store): Promise<readonly string[]> {
  const draft = newRun('run_new', new Date().toISOString(), { claim: { worker: 'worker-2', ttlMs: 60_000 } })
  const { stored } = await store.create(draft)
  const writer = new RunWriter(store, systemClock, stored, [draft.record])
  writer.start()
  writer.complete()
  await writer.flush()
  const found = await readRecords(store, 'run_new')
  return found.join('') === writer.records.join('') ? [] : [`a new run has the log ${found.join('').slice(0, 200)}`]
}
