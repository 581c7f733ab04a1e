/**
 * Creates runs. A creation writes several subjects, which JetStream cannot do atomically: the lane, the idempotency key, the
 * session document, and last the run itself, which makes it exist. If a node dies in between, the next node that
 * finds the partial creation marks it void before it reuses its key or lane.
 */
import { HoldfastError, storeUnavailable } from '../../core/model/errors.ts'
import type { TransferredRun } from '../../core/ports/store-transfer.ts'
import { isFinished, type Run } from '../../core/model/run.ts'
import type { CreateResult, NewRun, StoredRun } from '../../core/ports/store.ts'
import { delayUntilAbort } from '../shared/delay.ts'
import type { NatsDocuments } from './state/documents.ts'
import type { Description } from './log/head.ts'
import type { Key, Keys } from './state/keys.ts'
import type { Lanes, LaneEntry } from './state/lanes.ts'
import { KeyedMutex } from '../shared/keyed-mutex.ts'
import type { CurrentRun, RunMessages, Step } from './log/run-messages.ts'
import { idInUse } from '../shared/refusals.ts'

export interface CreationOptions {
  readonly messages: RunMessages
  readonly documents: NatsDocuments
  readonly lanes: Lanes
  readonly keys: Keys
  readonly now: () => number
  /** Decides the creation order, whichever clock leases use. */
  readonly serverNow: () => number
  readonly stored: (current: CurrentRun) => StoredRun
  /** Whether this node knows a run with this id. */
  readonly isKnown: (id: string) => boolean
  readonly signal: AbortSignal
}

/** How long a creation may be under way before others may void it. */
const CREATION_MS = 5000
const LOOK_MS = 10
/** How often another node may take the key first and then give it up. */
const TRIES_MAX = 100

export class Creation {
  readonly #options: CreationOptions
  readonly #queue = new KeyedMutex()
  #number = 0

  constructor(options: CreationOptions) {
    this.#options = options
  }

  create(run: NewRun): Promise<CreateResult> {
    const { idempotency } = run
    if (idempotency === undefined) return this.#create(run, undefined)
    return this.#queue.do(JSON.stringify([run.run.owner, idempotency.key]), () => this.#createWithKey(run))
  }

  /** Imports a run from another store. */
  async admit({ stored, idempotency }: TransferredRun, record: string): Promise<void> {
    const { messages, lanes, keys } = this.#options
    const { run, epoch, stop, first } = stored
    const inUse = (what: string): HoldfastError => new HoldfastError('conflict', `run ${run.id}: ${what} is in use`)
    if ((await messages.read(run.id)) !== undefined) throw inUse('the id')
    const known = idempotency && (await this.#lookUp(run.owner, idempotency.key))
    if (known?.stored !== undefined) throw inUse('its idempotency key')
    const number = this.#next()
    const hasLane = run.lane !== undefined && !isFinished(run.status)
    const entered = hasLane ? await lanes.enter(run.lane, run.id, number, false) : { number }
    const entry = idempotency && { id: run.id, fingerprint: idempotency.fingerprint }
    if (entry && !(await keys.take(run.owner, idempotency.key, entry, known?.key))) throw inUse('its idempotency key')
    await this.#write({ run, stop, idempotency }, record, {
      epoch,
      first,
      stopped: stop !== undefined,
      number: 'number' in entered ? entered.number : number,
    })
  }

  /** Whether a run in its lane is finished or its creation was voided. */
  async isOver([id, number]: LaneEntry): Promise<boolean> {
    const tip = await this.#options.messages.tip(id)
    if (tip !== undefined) return tip.head.tombstone !== undefined || isFinished(tip.head.status)
    return this.#options.serverNow() - number / 1000 > CREATION_MS && this.#giveUp(id)
  }

  async #createWithKey(run: NewRun): Promise<CreateResult> {
    const { owner } = run.run
    const { key, fingerprint } = run.idempotency!
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const known = await this.#lookUp(owner, key)
      if (known?.stored !== undefined) {
        const kind = known.key.fingerprint === fingerprint ? 'existing' : 'key_conflict'
        return { kind, stored: known.stored }
      }
      const created = await this.#create(run, known?.key)
      if (created !== undefined) return created
    }
    throw storeUnavailable('too many concurrent writers; try again', { retryAfterMs: 1000 })
  }

  /** Undefined if another node took the key meanwhile. `freed`: the voided creation that the key belonged to. */
  #create(run: NewRun, freed: undefined): Promise<CreateResult>
  #create(run: NewRun, freed: Key | undefined): Promise<CreateResult | undefined>
  async #create(draft: NewRun, freed: Key | undefined): Promise<CreateResult | undefined> {
    const { run, record, idempotency, rejectIfBusy = false, claim } = draft
    const { documents, lanes, keys, now, stored, isKnown } = this.#options
    if (isKnown(run.id)) throw idInUse(run.id)
    const entered = await this.#enter(run, rejectIfBusy)
    if ('busy' in entered) return { kind: 'busy', stored: entered.busy }
    if (idempotency !== undefined) {
      const entry = { id: run.id, fingerprint: idempotency.fingerprint }
      if (!(await keys.take(run.owner, idempotency.key, entry, freed))) {
        if (run.lane !== undefined) await lanes.leave(run.lane, run.id)
        return undefined
      }
    }
    await documents.touch(run)
    const lease = claim && entered.isFirst ? { worker: claim.worker, until: now() + claim.ttlMs } : undefined
    const change = { number: entered.number, epoch: lease ? 1 : 0, lease }
    return { kind: 'created', stored: stored(await this.#write({ run, idempotency }, record, change)) }
  }

  async #enter(
    run: Run,
    mustBeFree: boolean,
  ): Promise<{ readonly number: number; readonly isFirst: boolean } | { readonly busy: StoredRun }> {
    const { lanes, messages, stored, signal } = this.#options
    const number = this.#next()
    if (run.lane === undefined) return { number, isFirst: true }
    for (const until = performance.now() + 2 * CREATION_MS; ; await delayUntilAbort(LOOK_MS, signal)) {
      const entered = await lanes.enter(run.lane, run.id, number, mustBeFree)
      if (!('busy' in entered)) return entered
      const busy = await messages.read(entered.busy)
      if (busy !== undefined) return { busy: stored(busy) }
      // Still being created, or abandoned.
      if (performance.now() > until || signal.aborted)
        throw storeUnavailable(`the run ${entered.busy} is being created`, { retryAfterMs: 1000 })
    }
  }

  async #write(description: Description, record: string, change: NonNullable<Step['change']>): Promise<CurrentRun> {
    const { id } = description.run
    const records = { first: change.first ?? 0, count: 1, bytes: Buffer.from(record) }
    const { current } = await this.#options.messages.change(
      id,
      (existing, tip) => {
        if (existing !== undefined) throw idInUse(id)
        if (tip?.head.tombstone === 'void')
          throw storeUnavailable(`run ${id}: its creation took too long and was voided by another node; start it again`)
        return { change, description, records }
      },
      { known: 'new' },
    )
    return current!
  }

  /** The run that a key belongs to; waits while that run is being created. */
  async #lookUp(owner: string, key: string): Promise<{ readonly key: Key; readonly stored?: StoredRun } | undefined> {
    const { keys, messages, stored, signal } = this.#options
    for (const since = performance.now(); ; await delayUntilAbort(LOOK_MS, signal)) {
      const found = await keys.find(owner, key)
      if (found === undefined) return undefined
      const current = await messages.read(found.id)
      if (current !== undefined) return { key: found, stored: stored(current) }
      if ((await messages.tip(found.id))?.head.tombstone !== undefined) return { key: found }
      if (performance.now() - since > CREATION_MS) await this.#giveUp(found.id)
    }
  }

  async find(owner: string, key: string): Promise<{ stored: StoredRun; fingerprint: string } | undefined> {
    const { keys, messages, stored } = this.#options
    const found = await keys.findSurely(owner, key)
    const current = found && (await messages.read(found.id))
    return current && { stored: stored(current), fingerprint: found.fingerprint }
  }

  /** Voids a creation, so that the run can never exist. False if the run appeared after all. */
  async #giveUp(id: string): Promise<boolean> {
    const { written } = await this.#options.messages.change(id, (current, tip) =>
      current === undefined && tip === undefined
        ? { change: { tombstone: 'void' }, description: { run: never(id) } }
        : undefined,
    )
    return written
  }

  /** Microseconds since 1970, strictly increasing: the creation order, as far as nodes can agree on one. */
  #next(): number {
    this.#number = Math.max(this.#number + 1, Math.floor(this.#options.serverNow() * 1000))
    return this.#number
  }
}

function never(id: string): Run {
  const time = new Date(0).toISOString()
  const names = { component: '', session: '', owner: '' }
  return { id, ...names, status: 'cancelled', createdAt: time, updatedAt: time, attempt: 0 }
}
