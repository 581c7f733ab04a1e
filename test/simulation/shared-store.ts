/** The store that all simulated nodes share: the memory store's logic, checked by the model at every step. */
import type { Clock } from '../../src/core/ports/clock.ts'
import { HoldfastError } from '../../src/core/model/errors.ts'
import type { Run } from '../../src/core/model/run.ts'
import type {
  ClaimOptions,
  CreateResult,
  LeasedRun,
  HintListener,
  NewRun,
  StopRequest,
  Store,
  StoredRun,
} from '../../src/core/ports/store.ts'
import type { Slice } from '../../src/core/model/slice.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import type { Model } from './model.ts'
import type { RunPlan } from './plan.ts'

export interface Append {
  readonly record: string
  readonly change: Run | undefined
}

const decoder = new TextDecoder()

export class SharedStore {
  readonly memory: Store
  readonly #clock: Clock
  readonly #model: Model
  readonly #planOf: (run: Run) => RunPlan

  constructor(clock: Clock, model: Model, planOf: (run: Run) => RunPlan) {
    this.memory = createMemoryStore({ clock })
    this.#clock = clock
    this.#model = model
    this.#planOf = planOf
  }

  watchAll(listener: HintListener): void {
    this.memory.watch('*', listener)
  }

  async create(request: NewRun): Promise<CreateResult> {
    const created = await this.memory.create(request)
    const { stored } = created
    if (created.kind === 'created') {
      const { run } = request
      const key = request.idempotency && `${run.owner}/${request.idempotency.key}`
      this.#model.created(run.id, this.#planOf(run), run.lane, key, request.record)
      if (stored.lease !== undefined)
        this.#model.claimed(run.id, stored.epoch, stored.lease.worker, this.#clock.now(), request.claim!.ttlMs)
    }
    return created
  }

  async claim(id: string, owner: string, ttlMs: number, options?: ClaimOptions): Promise<StoredRun | undefined> {
    const claimed = await this.memory.claim(id, owner, ttlMs, options)
    if (claimed !== undefined) this.#model.claimed(id, claimed.epoch, owner, this.#clock.now(), ttlMs)
    return claimed
  }

  async renew(owner: string, ttlMs: number, components?: readonly string[]): Promise<readonly LeasedRun[]> {
    const held = await this.memory.renew(owner, ttlMs, components)
    for (const { id } of held) this.#model.renewed(id, owner, this.#clock.now(), ttlMs)
    return held
  }

  async release(id: string, epoch: number): Promise<void> {
    await this.memory.release(id, epoch)
    this.#model.released(id, epoch)
  }

  async requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined> {
    this.#model.stopped(id)
    return this.memory.requestStop(id, stop)
  }

  /** Appends under an epoch: everything, or nothing with an error. */
  async commit(id: string, epoch: number, first: number, batch: readonly Append[]): Promise<void> {
    const writer = this.memory.writer(id, { epoch, next: first })
    for (const { record, change } of batch) writer.append(record, change)
    const flushed = writer.flush()
    await flushed
    this.#model.appended(
      id,
      epoch,
      first,
      batch.map(({ record }) => record),
      batch.map(({ change }) => change),
    )
  }

  async read(id: string, after: number, maxBytes: number): Promise<Slice | undefined> {
    const slice = await this.memory.read(id, after, maxBytes)
    if (slice !== undefined) this.#model.shown(id, slice.first, decoder.decode(slice.bytes), slice.count, slice.closed)
    return slice
  }
}

export function unavailable(what: string): HoldfastError {
  return new HoldfastError('unavailable', `simulated: ${what}`, { retryAfterMs: 200 })
}
