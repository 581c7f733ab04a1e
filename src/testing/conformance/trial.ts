/** A test's own store and clock, with helpers to bring runs into a state. */
import { vi } from 'vitest'
import { assert } from '../../core/model/errors.ts'
import type { ClaimOptions, Hint, NewRun, Store, StoredRun } from '../../core/ports/store.ts'
import { createFakeClock, type FakeClock } from '../fake-clock.ts'
import { newRun, type NewRunOptions, RunWriter } from '../fixtures.ts'
import { readRecords } from './reading.ts'
import type { ConformanceCase, StoreTarget } from './target.ts'

/** Lease time. */
export const TTL_MS = 10_000

export class Trial {
  readonly target: StoreTarget
  readonly clock: FakeClock
  #store: Store
  #runs = 0

  constructor(target: StoreTarget, clock: FakeClock, store: Store) {
    this.target = target
    this.clock = clock
    this.#store = store
  }

  /** The currently open store; `reopen` replaces it. */
  get store(): Store {
    return this.#store
  }

  /** A run whose id sorts after earlier ones. */
  newRun(options: NewRunOptions = {}): NewRun {
    const id = `run_${String(this.#runs++).padStart(6, '0')}`
    return newRun(id, this.clock.iso(), options)
  }

  async create(options: NewRunOptions = {}): Promise<StoredRun> {
    const created = await this.store.create(this.newRun(options))
    assert(created.kind === 'created', `a run without a known key is created, not ${created.kind}`)
    return created.stored
  }

  /** Creates, claims and starts a run; its first two records are durable. */
  async start(options: NewRunOptions = {}): Promise<RunWriter> {
    const draft = this.newRun({ claim: { worker: 'worker-1', ttlMs: TTL_MS }, ...options })
    const created = await this.store.create(draft)
    assert(created.kind === 'created', `a run without a known key is created, not ${created.kind}`)
    assert(created.stored.lease !== undefined, `run ${draft.run.id} is claimed when it is created`)
    const runWriter = new RunWriter(this.store, this.clock, created.stored, [draft.record])
    runWriter.start()
    await runWriter.flush()
    return runWriter
  }

  async finish(options: NewRunOptions = {}): Promise<RunWriter> {
    const runWriter = await this.start(options)
    runWriter.complete()
    await runWriter.flush()
    return runWriter
  }

  /** Claims a run, which must be claimable, and continues its log. */
  async takeOver(id: string, worker = 'worker-2', options: ClaimOptions = {}): Promise<RunWriter> {
    const claim = await this.store.claim(id, worker, TTL_MS, options)
    assert(claim !== undefined, `run ${id} can be claimed`)
    return new RunWriter(this.store, this.clock, claim, await readRecords(this.store, id))
  }

  /** Advances the clock beyond the lease time. */
  expireLeases(): void {
    this.clock.advance(TTL_MS + 1)
  }

  async reopen(): Promise<void> {
    assert(this.target.reopen, 'the target can be reopened')
    this.#store = await this.target.reopen(this.#store, { clock: this.clock })
  }

  /** Retries a check until it passes, for asynchronous effects. */
  async eventually(check: () => void | Promise<void>): Promise<void> {
    await vi.waitFor(check, { timeout: this.target.patienceMs ?? 5000, interval: 2 })
  }

  /** Collects the hints of a run, or of all. */
  hints(id: string): Hint[] {
    const hints: Hint[] = []
    this.store.watch(id, (hint) => void hints.push(hint))
    return hints
  }

  async close(): Promise<void> {
    await this.#store.close()
  }
}

export async function openTrial(target: StoreTarget): Promise<Trial> {
  const clock = createFakeClock()
  return new Trial(target, clock, await target.open({ clock }))
}

/** Runs one case on its own store. */
export async function expectToPass(target: StoreTarget, { run }: ConformanceCase): Promise<void> {
  const trial = await openTrial(target)
  try {
    await run(trial)
  } finally {
    await trial.close()
  }
}
