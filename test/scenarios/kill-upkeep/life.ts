/**
 * One life of a store, as a process of its own: several hands create, write, finish, remove, trim, sweep and back up at once,
 * until the process is killed. Every step is noted on stdout before it is asked for and after it was acknowledged.
 *
 *     node life.ts work PATH SEED STEPS     node life.ts copy FROM TO
 */
import { writeSync } from 'node:fs'
import { copyStore } from '../../../src/cli/transfer/copy-store.ts'
import { systemClock } from '../../../src/core/ports/clock.ts'
import { defaultLimits } from '../../../src/core/model/limits.ts'
import { silentLogger } from '../../../src/core/ports/logger.ts'
import { isFinished } from '../../../src/core/model/run.ts'
import type { Store, StoredRun } from '../../../src/core/ports/store.ts'
import { Retention } from '../../../src/server/retention/retention.ts'
import { backUp } from '../../../src/stores/sqlite/file/backup.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { newRun } from '../../../src/testing/fixtures.ts'
import { Random } from '../../support/random.ts'
import { recordAt, runAfter, TIME } from './content.ts'
import { type Note, OWNERS } from './notes.ts'

const HANDS = 4
/** Finished runs beyond it are removed first of all: each life is checked whole. */
const RUNS_MAX = 60
const CLAIM = { worker: 'hand', ttlMs: 60_000 }

function note(what: Note): void {
  writeSync(1, `${JSON.stringify(what)}\n`)
}

class Life {
  readonly #store: Store
  readonly #path: string
  readonly #random: Random
  /** Unfinished runs that no hand has taken, and finished ones. */
  readonly #open: string[] = []
  readonly #finished: string[] = []
  readonly #values = new Map<string, number>()
  #created = 0
  #isBackingUp = false
  #backups = 0

  constructor(store: Store, path: string, random: Random) {
    this.#store = store
    this.#path = path
    this.#random = random
  }

  async load(): Promise<void> {
    for (let page = await this.#store.list({ limit: 100 }); ;) {
      for (const { run } of page.runs) (isFinished(run.status) ? this.#finished : this.#open).push(run.id)
      if (page.cursor === undefined) break
      page = await this.#store.list({ limit: 100, after: page.cursor })
    }
    for (const owner of OWNERS) {
      const document = await this.#store.documents.get(owner, 'notes', 'value')
      this.#values.set(owner, (document?.body as { value: number } | undefined)?.value ?? 0)
    }
  }

  async hand(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) await this.#step()
  }

  #step(): Promise<void> {
    const random = this.#random
    if (this.#finished.length > RUNS_MAX) return this.#remove()
    if (random.chance(0.01)) return this.#backUp()
    if (random.chance(0.01)) return this.#sweep()
    if (random.chance(0.15)) return this.#remove()
    if (random.chance(0.1)) return this.#trim()
    if (random.chance(0.1)) return this.#put()
    if (this.#open.length > 0 && random.chance(0.5)) return this.#goOn()
    return this.#create()
  }

  async #create(): Promise<void> {
    const id = `run_${this.#random.seed}_${++this.#created}`
    const owner = this.#random.pick(OWNERS)
    note({ kind: 'creating', id, owner })
    const { stored } = await this.#store.create(newRun(id, TIME, { owner, claim: CLAIM }))
    note({ kind: 'created', id, owner })
    await this.#write(stored)
  }

  async #goOn(): Promise<void> {
    const id = take(this.#open, this.#random)!
    const stored = await this.#store.claim(id, CLAIM.worker, CLAIM.ttlMs)
    if (stored !== undefined) await this.#write(stored)
  }

  async #write(stored: StoredRun): Promise<void> {
    const random = this.#random
    const { id } = stored.run
    const writer = this.#store.writer(id, stored)
    let { run } = stored
    const append = (completed = false): void => {
      const index = writer.next
      const after = runAfter(run, index, completed)
      writer.append(recordAt(id, index, completed), after === run ? undefined : after)
      run = after
    }
    for (let flushes = random.between(1, 4); flushes > 0; flushes--) {
      for (let count = random.chance(0.1) ? random.between(60, 200) : random.between(1, 12); count > 0; count--)
        append()
      const completed = flushes === 1 && random.chance(0.6)
      if (completed) {
        note({ kind: 'completing', id, index: writer.next })
        append(true)
      }
      const { next } = writer
      await writer.flush()
      note({ kind: 'wrote', id, next, completed })
    }
    await this.#store.release(id, stored.epoch)
    ;(isFinished(run.status) ? this.#finished : this.#open).push(id)
  }

  async #remove(): Promise<void> {
    const id = take(this.#finished, this.#random)
    if (id === undefined) return
    note({ kind: 'removing', id })
    if (await this.#store.remove(id)) note({ kind: 'removed', id })
  }

  async #trim(): Promise<void> {
    const id = take(this.#finished, this.#random)
    const stored = id === undefined ? undefined : await this.#store.get(id)
    if (id === undefined || stored === undefined) return
    const before = Math.min(stored.first + this.#random.between(1, 80), stored.next - 1)
    note({ kind: 'trimming', id, before })
    await this.#store.trim(id, before)
    note({ kind: 'trimmed', id, before })
    this.#finished.push(id)
  }

  async #put(): Promise<void> {
    const owner = this.#random.pick(OWNERS)
    const value = this.#values.get(owner)! + 1
    this.#values.set(owner, value)
    note({ kind: 'putting', owner, value })
    await this.#store.documents.put({ owner, collection: 'notes', id: 'value', body: { value } })
    note({ kind: 'put', owner, value })
  }

  /** Every finished run is old enough to be trimmed. */
  async #sweep(): Promise<void> {
    const limits = { ...defaultLimits, retainMs: 1 }
    const retention = new Retention(this.#store, limits, systemClock, silentLogger, { believesClock: true })
    note({ kind: 'sweeping' })
    await retention.sweep()
    note({ kind: 'swept' })
    await retention.close()
  }

  async #backUp(): Promise<void> {
    if (this.#isBackingUp) return
    this.#isBackingUp = true
    const path = `${this.#path}.backup-${this.#random.seed}-${++this.#backups}`
    note({ kind: 'backing up', path })
    await backUp(this.#path, path, () => {})
    note({ kind: 'backed up', path })
    this.#isBackingUp = false
  }
}

function take(ids: string[], random: Random): string | undefined {
  return ids.length === 0 ? undefined : ids.splice(random.between(0, ids.length - 1), 1)[0]
}

const [task, ...args] = process.argv.slice(2)
if (task === 'work') {
  const [path, seed, steps] = args
  const store = await openSqliteStore({ path: path! })
  note({ kind: 'opened' })
  const life = new Life(store, path!, new Random(Number(seed)))
  await life.load()
  await Promise.all(Array.from({ length: HANDS }, () => life.hand(Number(steps))))
  await store.close()
} else {
  const [from, to] = await Promise.all(args.map((path) => openSqliteStore({ path })))
  note({ kind: 'opened' })
  const { mismatches } = await copyStore(from!, to!, () => {})
  await Promise.all([from!.close(), to!.close()])
  note({ kind: 'copied', problems: mismatches.map((mismatch) => JSON.stringify(mismatch)) })
}
note({ kind: 'closed' })
