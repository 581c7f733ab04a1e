/** Reference model: what a store must hold and answer, in plain arrays. */
import { assert } from '../../core/model/errors.ts'
import { isFinished, type Run } from '../../core/model/run.ts'
import type { ClaimOptions, CreateResult, Lease, NewRun, StopRequest } from '../../core/ports/store.ts'
import { ModelDocuments } from './model-documents.ts'

export interface ModelAppend {
  readonly record: string
  readonly change: Run | undefined
}

export interface ModelRun {
  run: Run
  /** Every durable record, including trimmed ones. */
  readonly records: string[]
  /** Records appended under the current lease that may already be durable, in order. */
  pending: ModelAppend[]
  first: number
  epoch: number
  lease?: Lease | undefined
  stop?: StopRequest | undefined
  readonly idempotency: NewRun['idempotency']
}

export class Model {
  /** In order of creation. */
  runs: ModelRun[] = []
  readonly documents = new ModelDocuments()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  create(draft: NewRun): { readonly kind: CreateResult['kind']; readonly run: ModelRun } {
    const { run, record, idempotency, rejectIfBusy, claim } = draft
    const known = this.runs.find(
      (each) => idempotency && each.run.owner === run.owner && each.idempotency?.key === idempotency.key,
    )
    if (known !== undefined) {
      const same = known.idempotency?.fingerprint === idempotency?.fingerprint
      return { kind: same ? 'existing' : 'key_conflict', run: known }
    }
    const head = this.#headOf(run.lane)
    if (rejectIfBusy && head !== undefined) return { kind: 'busy', run: head }
    const created: ModelRun = { run, records: [record], pending: [], first: 0, epoch: 0, idempotency }
    this.runs.push(created)
    this.documents.touch(run)
    if (claim !== undefined && head === undefined) this.claim(created, claim.worker, claim.ttlMs)
    return { kind: 'created', run: created }
  }

  remove(run: ModelRun): void {
    this.runs = this.runs.filter((each) => each !== run)
  }

  isClaimable(run: ModelRun, { paused = false, outOfOrder = false }: ClaimOptions = {}): boolean {
    const { status, lane, wakeAt = Infinity } = run.run
    if (isFinished(status) || this.isHeld(run)) return false
    if (run.stop !== undefined) return true
    if (status === 'paused' && !paused && this.#now() < wakeAt) return false
    return outOfOrder || lane === undefined || this.#headOf(lane) === run
  }

  /** Started runs first, then round-robin between owners; the order within a rank is up to the store. */
  claimable(): { readonly each: ModelRun; readonly rank: number }[] {
    const [begun, queued]: [ModelRun[], ModelRun[]] = [[], []]
    for (const each of this.runs) if (this.isClaimable(each)) (each.run.status === 'queued' ? queued : begun).push(each)
    const ranked = queued.map((each) => {
      const { owner } = each.run
      const running = this.runs.filter(({ run }) => run.owner === owner && run.status === 'running').length
      return { each, rank: running + queued.filter(({ run }) => run.owner === owner).indexOf(each) }
    })
    return [...begun.map((each, place) => ({ each, rank: place - begun.length })), ...ranked].toSorted(
      (a, b) => a.rank - b.rank,
    )
  }

  isHeld({ lease }: ModelRun): boolean {
    return lease !== undefined && lease.until > this.#now()
  }

  claim(run: ModelRun, worker: string, ttlMs: number): void {
    run.epoch += 1
    run.lease = { worker, until: this.#now() + ttlMs }
  }

  renew(worker: string, ttlMs: number): string[] {
    const own = this.runs.filter((run) => run.lease?.worker === worker)
    for (const run of own) run.lease = { worker, until: this.#now() + ttlMs }
    return own.map((run) => run.run.id)
  }

  /** Marks pending records as durable, up to an index. */
  settle(run: ModelRun, next: number): void {
    assert(next >= run.records.length, `run ${run.run.id}: record ${next} was durable and is gone`)
    for (const { record, change } of run.pending.splice(0, next - run.records.length)) {
      run.records.push(record)
      if (change === undefined) continue
      if (change.status === 'paused' || isFinished(change.status)) run.lease = undefined
      run.run = change
    }
    assert(next === run.records.length, `run ${run.run.id}: nobody appended record ${next - 1}`)
  }

  trim(run: ModelRun, before: number): void {
    run.first = Math.max(run.first, Math.min(before, run.records.length - 1))
  }

  /** In listing order. */
  newestFirst(): ModelRun[] {
    const place = ({ run }: ModelRun): string => `${run.createdAt} ${run.id}`
    return this.runs.toSorted((a, b) => (place(a) < place(b) ? 1 : -1))
  }

  #headOf(lane: string | undefined): ModelRun | undefined {
    return lane === undefined ? undefined : this.runs.find(({ run }) => run.lane === lane && !isFinished(run.status))
  }
}
