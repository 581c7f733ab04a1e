/**
 * Which runs this node drives: takes them up to its bound, renews its claims, picks up runs whose worker died, carries out
 * stops, and hands over what is left when it shuts down.
 */
import { type Begun, begin, type Continuation, handOver } from './claimed-run.ts'
import { messageOf } from './errors.ts'
import { ParkedAgents } from './parked-agents.ts'
import type { NodeParts } from './parts.ts'
import type { Run } from './run.ts'
import type { Drive, DriveEnd } from './runner.ts'
import { Setbacks } from './setbacks.ts'
import type { Hint, StopRequest, StoredRun } from './store.ts'

/** Claimable runs that are looked at, at a time, for one that nobody serves. */
const UNSERVED_LOOK = 20

/** How often in a row it is looked again because other nodes took what was found. */
const LOST_RACES_MAX = 5

export class Dispatcher {
  /** Name under which this node claims runs; another one after every start. */
  readonly owner: string
  readonly #parts: NodeParts
  readonly #drives = new Map<string, Drive>()
  /** Claimed and about to be driven. */
  readonly #starting = new Set<string>()
  readonly #parked: ParkedAgents
  readonly #setbacks: Setbacks
  /** Drives that have ended and are being put away. */
  readonly #ending = new Set<Promise<void>>()
  readonly #stopWatching: () => void
  #timer: ReturnType<typeof setInterval> | undefined
  #looking: Promise<void> | undefined
  #lookAgain = false
  #tending = false
  #draining = false
  #handingOver = false
  #reserved = 0
  /** More may wait than there were places for: the next place is for those, by their turns, and not for whoever comes. */
  #isBehind = false
  #takenUp = { recovered: 0, lost: 0 }
  #strays: ReadonlySet<string> = new Set()

  constructor(parts: NodeParts) {
    this.#parts = parts
    this.owner = parts.ids.unique()
    this.#parked = new ParkedAgents(parts.limits.runsParkedMax)
    this.#setbacks = new Setbacks(parts, (run, cause) => this.#complain(run, cause))
    this.#stopWatching = parts.store.watch('*', (hint) => this.#hinted(hint))
  }

  /** Looks for runs to take, now and from now on. */
  start(): void {
    const everyMs = Math.max(this.#parts.limits.leaseMs / 3, 50)
    this.#timer = setInterval(() => void this.#tend(), everyMs)
    this.#look()
  }

  /** Runs driven by this node. */
  get running(): number {
    return this.#drives.size + this.#starting.size + this.#reserved
  }

  /** Runs of workers that died which were taken up here: how many of them went on, and how many could only be failed. */
  get takenUp(): { readonly recovered: number; readonly lost: number } {
    return this.#takenUp
  }

  get draining(): boolean {
    return this.#draining
  }

  /** Keeps a place for a run that is about to be created; false when there is none for it. Give it back with `free`. */
  reserve(): boolean {
    if (!this.#hasRoom()) this.#isBehind = true
    if (this.#draining || this.#isBehind) return false
    this.#reserved++
    return true
  }

  free(): void {
    this.#reserved--
  }

  /** Drives a run that was claimed for this node, or writes its answers down for a node that can. */
  async take(claimed: StoredRun, continuation?: Continuation): Promise<void> {
    if (!this.isForOthers(claimed.run)) return this.#drive(claimed, continuation)
    try {
      if (continuation !== undefined) await handOver(this.#parts, claimed, continuation)
    } finally {
      await this.#setbacks.giveBack(claimed)
    }
  }

  /** Other nodes may be able to drive it, and this one is not. */
  isForOthers({ component }: Run): boolean {
    const { store, registry, limits } = this.#parts
    return store.capabilities.shared && (limits.runsConcurrentMax === 0 || registry.find(component) === undefined)
  }

  /** Carries out a stop here if the run is driven here, or by nobody. */
  async stop(id: string, request: StopRequest): Promise<void> {
    const drive = this.#drives.get(id)
    if (drive !== undefined) return drive.stop(request)
    if (this.#starting.has(id)) return // it looks for a stop when it starts
    const claimed = await this.#parts.store.claim(id, this.owner, this.#parts.limits.leaseMs, {
      paused: true,
      outOfTurn: true,
    })
    if (claimed !== undefined) await this.#drive(claimed)
  }

  /** Takes no more runs, lets the running ones finish within the bound, and hands the rest over. */
  async drain(): Promise<void> {
    this.#draining = true
    const until = this.#parts.clock.now() + this.#parts.limits.drainMs
    while (this.running > 0 && this.#parts.clock.now() < until) await pause(20)
    this.#stopWatching()
    await this.#looking
    this.#handingOver = true
    await this.#setbacks.end()
    await Promise.all([...this.#parked.all(), ...this.#drives.values()].map((drive) => drive.release()))
    // Those that were just being started hand themselves over.
    while (this.#starting.size > 0) await pause(5)
    await Promise.all(this.#ending)
    clearInterval(this.#timer) // not before: what still runs keeps its claims
  }

  #hinted(hint: Hint): void {
    if (hint.claimable === true) this.#look()
    if (hint.stop === true) {
      void this.#parts.store
        .get(hint.run)
        .then((stored) => (stored?.stop === undefined ? undefined : this.stop(hint.run, stored.stop)))
        .catch((cause: unknown) => this.#complain(hint.run, cause))
    }
  }

  /** Every third of a lease: hints can be lost, workers can die. */
  async #tend(): Promise<void> {
    const { store, limits, logger } = this.#parts
    if (this.#tending) return // the last time is not over yet
    this.#tending = true
    try {
      const drives = [...this.#drives] // what is claimed from here on is not in the answer
      const held = new Set(await store.renew(this.owner, limits.leaseMs))
      for (const [id, drive] of drives) {
        if (!held.has(id)) drive.lose(new Error('the claim ran out'))
        else await this.#checkStop(id, drive).catch((cause: unknown) => this.#complain(id, cause))
      }
      await this.#releaseStrays(held)
      await this.#endUnserved()
    } catch (cause) {
      logger.warn({ reason: messageOf(cause) }, 'claims could not be renewed')
    } finally {
      this.#tending = false
    }
    this.#look()
  }

  /** A claim that is ours and that nothing here drives, at two looks, was made by a request that went wrong. */
  async #releaseStrays(held: ReadonlySet<string>): Promise<void> {
    const before = this.#strays
    this.#strays = new Set([...held].filter((id) => !this.#isDriven(id)))
    for (const id of this.#strays) {
      if (!before.has(id)) continue
      const stored = await this.#parts.store.get(id)
      if (stored !== undefined && !this.#isDriven(id)) await this.#parts.store.release(id, stored.epoch)
    }
  }

  /** Another node may serve what this one does not. A run that none has taken for long is ended here, and says so (RUN-1). */
  async #endUnserved(): Promise<void> {
    const { store, registry, clock, limits } = this.#parts
    if (!store.capabilities.shared || this.#draining || !this.#hasRoom()) return
    for (const id of await store.claimable(UNSERVED_LOOK)) {
      const stored = await store.get(id)
      if (stored === undefined || registry.find(stored.run.component) !== undefined) continue
      const since = Math.max(Date.parse(stored.run.updatedAt), stored.lease?.until ?? 0)
      if (clock.now() - since < limits.unservedMs) continue
      const claimed = await store.claim(id, this.owner, limits.leaseMs)
      if (claimed !== undefined) await this.#drive(claimed).catch((cause: unknown) => this.#complain(id, cause))
    }
  }

  async #checkStop(id: string, drive: Drive): Promise<void> {
    const stop = (await this.#parts.store.get(id))?.stop
    if (stop !== undefined) drive.stop(stop)
  }

  /** Takes what can be taken; calls that come while it is at it are one more round. */
  #look(): void {
    if (this.#draining) return
    this.#lookAgain = true
    this.#looking ??= this.#takeClaimable()
      .catch((cause: unknown) => this.#parts.logger.warn({ reason: messageOf(cause) }, 'runs could not be claimed'))
      .finally(() => (this.#looking = undefined))
  }

  async #takeClaimable(): Promise<void> {
    const { limits } = this.#parts
    let races = 0
    while (this.#lookAgain) {
      this.#lookAgain = false
      const room = limits.runsConcurrentMax - this.running
      if (room <= 0 || this.#draining) return
      const found = await this.#claimable(room)
      this.#isBehind = found.length >= room
      const taken = await this.#takeEach(found)
      // Others were faster, and what they left may be as many.
      if (!taken && ++races < LOST_RACES_MAX) this.#lookAgain = true
    }
  }

  /** Runs that this node may take. Where no other node can, it takes also what it does not serve, to end it. */
  #claimable(limit: number): Promise<readonly string[]> {
    const { store, registry } = this.#parts
    if (!store.capabilities.shared) return store.claimable(limit)
    return store.claimable(
      limit,
      registry.list().map(({ id }) => id),
    )
  }

  /** False when another node has taken some of them. */
  async #takeEach(ids: readonly string[]): Promise<boolean> {
    const { store, limits } = this.#parts
    let taken = true
    for (const id of ids) {
      if (this.#draining) return true
      // Its claim ran out because this process was busy; nobody took it, so it is renewed and not taken.
      if (this.#isDriven(id)) {
        await store.renew(this.owner, limits.leaseMs)
        continue
      }
      if (!this.#hasRoom()) return true
      this.#reserved++
      try {
        const claimed = await store.claim(id, this.owner, limits.leaseMs)
        if (claimed === undefined) taken = false
        else this.#drive(claimed).catch((cause: unknown) => this.#complain(id, cause))
      } finally {
        this.free()
      }
    }
    return taken
  }

  /** Resolves when the run has started, or is settled without starting. */
  async #drive(claimed: StoredRun, continuation?: Continuation): Promise<void> {
    const { id } = claimed.run
    let begun: Begun | undefined
    this.#starting.add(id)
    try {
      begun = await this.#begin(claimed, continuation)
      if (begun === undefined) return this.#look()
      this.#drives.set(id, begun.drive)
      const ending = begun.ended.then((end) => this.#ended(id, end, claimed.epoch))
      this.#ending.add(ending)
      void ending.finally(() => this.#ending.delete(ending))
      if (this.#handingOver) await begun.drive.release()
    } catch (cause) {
      // A paused run waits for its next continuation; any other would be claimed again at once.
      if (continuation !== undefined) await this.#setbacks.giveBack(claimed)
      else await this.#setbacks.add(claimed, cause)
      throw cause
    } finally {
      this.#starting.delete(id)
    }
    // A stop that came while the run was being started. If the store cannot be asked now, it will be at the next look.
    await this.#checkStop(id, begun.drive).catch((cause: unknown) => this.#complain(id, cause))
  }

  async #begin(claimed: StoredRun, continuation: Continuation | undefined): Promise<Begun | undefined> {
    const parked = this.#parked.take(claimed.run.id, claimed.next)
    const { begun, takenUp } = await begin(this.#parts, claimed, continuation, parked)
    this.#setbacks.forget(claimed.run.id)
    if (takenUp !== undefined) this.#takenUp = { ...this.#takenUp, [takenUp]: this.#takenUp[takenUp] + 1 }
    return begun
  }

  async #ended(id: string, end: DriveEnd, epoch: number): Promise<void> {
    const drive = this.#drives.get(id)
    this.#drives.delete(id)
    if (end === 'paused' && drive !== undefined) this.#parked.add(id, drive)
    if (end === 'released' || end === 'lost') await this.#parts.store.release(id, epoch).catch(() => {})
    this.#look()
  }

  #isDriven(id: string): boolean {
    return this.#drives.has(id) || this.#starting.has(id)
  }

  #hasRoom(): boolean {
    return this.running < this.#parts.limits.runsConcurrentMax
  }

  #complain(run: string, cause: unknown): void {
    this.#parts.logger.warn({ run, reason: messageOf(cause) }, 'run could not be driven')
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
