/** Starts runs: deduplicates repeated starts, takes a worker slot or queues, and applies the session's busy policy. */
import type { BusyPolicy } from '../ports/component.ts'
import { CreationTime } from './creation-time.ts'
import type { Dispatcher } from './dispatcher.ts'
import { HoldfastError } from '../model/errors.ts'
import type { StartCommand } from './draft-run.ts'
import { loadExecution } from './load-execution.ts'
import { comesBefore } from '../model/page.ts'
import type { NodeDeps } from '../node-deps.ts'
import { limitedAs, type Principal } from '../model/principal.ts'
import type { PrincipalQuotas } from '../access/principal-quotas.ts'
import { CREDENTIALS } from '../access/caller-credentials.ts'
import { assertVerifies } from '../access/unverified-callers.ts'
import { SESSIONS } from '../model/document.ts'
import { RUN_BYTES } from '../model/storage-usage.ts'
import { Admission } from './admission.ts'
import { type Run, unfinishedStatuses } from '../model/run.ts'
import type { CreateResult, NewRun, StoredRun } from '../ports/store.ts'

export interface StartedRun {
  readonly stored: StoredRun
  /** False if a run with the idempotency key exists. */
  readonly created: boolean
}

/** Bytes that a run stores besides its input and its credential until an upstream has judged the credential: row, session and failure. */
const UNVERIFIED_RUN_BYTES = 4 * RUN_BYTES

export class RunStarter {
  readonly #deps: NodeDeps
  readonly #dispatcher: Dispatcher
  readonly #queue: Admission
  readonly #quotas: PrincipalQuotas
  readonly #created: CreationTime
  readonly #execute: (claimed: StoredRun) => void

  /** `execute`: called with every run that was claimed for this node at its creation. */
  constructor(deps: NodeDeps, dispatcher: Dispatcher, quotas: PrincipalQuotas, execute: (claimed: StoredRun) => void) {
    this.#deps = deps
    this.#quotas = quotas
    this.#dispatcher = dispatcher
    this.#queue = new Admission(deps)
    this.#created = new CreationTime(deps.store, deps.clock)
    this.#execute = execute
  }

  /** `caller`: who acts for the owner. */
  async start(owner: string, request: StartCommand, caller: Principal): Promise<StartedRun> {
    const component = this.#deps.registry.get(request.component)
    if (caller.unverified !== undefined) assertVerifies(component)
    const policy = request.onBusySession ?? component.onBusySession ?? 'parallel'
    const { draftRun } = await loadExecution()
    const draft = await draftRun(this.#deps, await this.#created.next(), owner, component, request, policy)
    const known = await this.#known(draft)
    if (known !== undefined) return this.#started(known, policy, [])
    this.#quotas.takeStart(caller.unverified === undefined ? owner : limitedAs(caller))
    await this.#quotas.storeRun(owner, draft.record.length)
    await this.#storeUnverified(draft, caller)
    const earlier = policy === 'interrupt' ? await this.#unfinished(draft.run) : []
    const room = this.#dispatcher.reserve(draft.run.id, owner)
    let leaveQueue: (() => void) | undefined
    try {
      // A run that waits for others in its session needs no free slot.
      if (room === undefined || policy === 'enqueue' || policy === 'interrupt')
        leaveQueue = await this.#queue.enter(owner)
      const claim = { worker: this.#dispatcher.worker, ttlMs: this.#deps.limits.leaseMs }
      await this.#keepCredential(draft.run, caller)
      const created = await this.#create(room === undefined ? draft : { ...draft, claim })
      if (created.kind === 'created' && created.stored.lease !== undefined) this.#execute(created.stored)
      return await this.#started(created, policy, earlier)
    } finally {
      leaveQueue?.()
      room?.()
    }
  }

  async #storeUnverified({ run: { owner }, record }: NewRun, { unverified, forwarded }: Principal): Promise<void> {
    if (unverified === undefined) return
    await this.#deps.callerCredentials?.unverified.storage.admit({
      owner,
      network: unverified.network,
      // Encryption makes the credential longer.
      bytes: record.length + UNVERIFIED_RUN_BYTES + 2 * (forwarded?.reveal().length ?? 0),
      collections: [SESSIONS, CREDENTIALS],
    })
  }

  async #keepCredential(run: Run, { forwarded, unverified }: Principal): Promise<void> {
    const credentials = this.#deps.callerCredentials
    if (forwarded === undefined || credentials === undefined) return
    if (unverified?.network !== undefined)
      credentials.unverified.admit(run, unverified.network, (id) => this.#dispatcher.isExecuting(id))
    await credentials.keep(run, forwarded)
  }

  async #create(draft: NewRun): Promise<CreateResult> {
    const created = await this.#deps.store.create(draft)
    if (created.kind !== 'created') await this.#deps.callerCredentials?.drop(draft.run)
    return created
  }

  /** Returns the run of a repeated start, even if no new starts are accepted. */
  async #known({ run, idempotency }: NewRun): Promise<CreateResult | undefined> {
    if (idempotency === undefined) return undefined
    const known = await this.#deps.store.findByKey(run.owner, idempotency.key)
    if (known === undefined) return undefined
    return { kind: known.fingerprint === idempotency.fingerprint ? 'existing' : 'key_conflict', stored: known.stored }
  }

  async #started(created: CreateResult, policy: BusyPolicy, earlier: readonly Run[]): Promise<StartedRun> {
    const { stored } = created
    const { id, session } = stored.run
    switch (created.kind) {
      case 'key_conflict':
        throw new HoldfastError(
          'idempotency_conflict',
          `the idempotency key was used for run ${id} with another body: use a new key`,
          {
            details: { run: id },
          },
        )
      case 'busy':
        throw new HoldfastError(
          'session_busy',
          `session ${session} is busy with run ${id}: wait for its end or stop it`,
          {
            details: { run: id },
          },
        )
      case 'existing':
        return { stored, created: false }
      case 'created':
        if (policy === 'interrupt') await this.#interrupt(stored.run, earlier)
        return { stored, created: true }
    }
  }

  /**
   * Stops the earlier runs of the lane; this run starts when they have ended. Runs that existed when it was created count as
   * earlier, whatever the clocks say. Of several concurrent starts, the last one survives.
   */
  async #interrupt(run: Run, earlier: readonly Run[]): Promise<void> {
    const { store, clock } = this.#deps
    const known = new Set(earlier.map(({ id }) => id))
    const at = new Date(clock.now()).toISOString()
    for (const other of await this.#unfinished(run)) {
      if (known.has(other.id) || comesBefore(run, other)) {
        await store.requestStop(other.id, { at, by: run.owner, reason: `interrupted by run ${run.id}` })
      }
    }
  }

  /** The other unfinished runs of a run's lane. */
  async #unfinished({ id, owner, session, lane }: Run): Promise<readonly Run[]> {
    const { store, limits } = this.#deps
    const status = unfinishedStatuses
    const found: Run[] = []
    for (let after: string | undefined; ;) {
      const limit = limits.maxPageRuns
      const page = await store.list({ owner, session, status, limit, ...(after !== undefined && { after }) })
      found.push(...page.runs.map(({ run }) => run).filter((run) => run.lane === lane && run.id !== id))
      if (page.cursor === undefined) return found
      after = page.cursor
    }
  }
}
