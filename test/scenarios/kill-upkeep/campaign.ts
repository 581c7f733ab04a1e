/** Kills the process of a store many times while retention, compaction, backup and vacuum run. */
import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import type { Random } from '../../support/random.ts'
import { Ledger } from './ledger.ts'
import { isAsked, type Note } from './notes.ts'

const lifeProgram = join(import.meta.dirname, 'life.ts')
const compileCache = join(import.meta.dirname, '../../../node_modules/.cache/holdfast-test-servers')
/** Files that belong to one store. */
const SUFFIXES = ['', '-wal', '-commits'] as const
const COPY_KILLS_MAX = 3
const STDERR_CHARS_MAX = 16_384

export class UpkeepCampaign {
  readonly counts = {
    lives: 0,
    killed: 0,
    killedAtStart: 0,
    created: 0,
    removed: 0,
    trimmed: 0,
    swept: 0,
    backups: 0,
    copies: 0,
    killedCopies: 0,
    recordsCompared: 0,
  }
  readonly #folder: string
  readonly #random: Random
  readonly #ledger = new Ledger()
  #path: string

  constructor(folder: string, random: Random) {
    this.#folder = folder
    this.#random = random
    this.#path = join(folder, 'runs-0.db')
  }

  /** One life, and a check of its file. */
  async cycle(): Promise<void> {
    const backups = await this.#live()
    await this.#check(this.#path, this.#ledger)
    for (const [path, ledger] of backups) {
      await this.#check(path, ledger)
      rmSync(path)
      this.counts.backups++
    }
    if (this.#random.chance(0.05)) await this.#move()
  }

  async #live(): Promise<Map<string, Ledger>> {
    const random = this.#random
    this.counts.lives++
    const endsInPeace = random.chance(0.05)
    const steps = endsInPeace ? '10' : '1000000'
    const begun = new Map<string, Ledger>()
    const backups = new Map<string, Ledger>()
    const child = new Child(['work', this.#path, String(this.counts.lives), steps], (note) => {
      this.#count(note)
      this.#ledger.take(note)
      // A backup has everything acknowledged before it began, and may have what was requested until its end.
      if (isAsked(note)) for (const ledger of begun.values()) ledger.take(note)
      if (note.kind === 'backing up') begun.set(note.path, this.#ledger.copy())
      if (note.kind === 'backed up') {
        backups.set(note.path, begun.get(note.path)!)
        begun.delete(note.path)
      }
    })
    if (random.chance(0.1)) {
      await wait(random.between(30, 400)) // in the middle of its start, or of its recovery
      this.counts.killedAtStart++
    } else {
      await child.opened
      if (!endsInPeace) await wait(random.chance(0.3) ? random.between(0, 30) : random.between(30, 300))
    }
    if (endsInPeace) return child.exited.then(() => backups)
    await child.kill()
    this.counts.killed++
    return backups
  }

  /** Copies everything into another store, with kills on the way; that store is used from then on. */
  async #move(): Promise<void> {
    const to = join(this.#folder, `runs-${this.counts.lives}.db`)
    for (let kills = this.#random.between(0, COPY_KILLS_MAX); kills > 0; kills--) {
      const child = new Child(['copy', this.#path, to], () => {})
      await child.opened
      await wait(this.#random.between(0, 200))
      await child.kill()
      this.counts.killedCopies++
    }
    let problems: readonly string[] = ['it was not finished']
    const child = new Child(['copy', this.#path, to], (note) => {
      if (note.kind === 'copied') problems = note.problems
    })
    await child.exited
    if (problems.length > 0) throw new Error(`the copy differs: ${problems.join('; ')} ${child.stderr}`)
    await this.#check(to, this.#ledger)
    for (const suffix of [...SUFFIXES, '-shm', '.lock']) rmSync(this.#path + suffix, { force: true })
    this.#path = to
    this.counts.copies++
  }

  /** Checks a copy, so that the next life opens the file of the last one, without the recovery of the check. */
  async #check(path: string, ledger: Ledger): Promise<void> {
    if (!existsSync(path)) return // killed before the file was made
    const folder = mkdtempSync(join(this.#folder, 'look-'))
    const copy = join(folder, 'runs.db')
    for (const suffix of SUFFIXES) if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
    const reported: string[] = []
    const tell = (_fields: object, message: string): void => void reported.push(message)
    const store = await openSqliteStore({ path: copy, logger: { debug() {}, info() {}, warn: tell, error: tell } })
    try {
      this.counts.recordsCompared += await ledger.check(store)
      if (reported.length > 0) throw new Error(`the store warned: ${reported.join('; ')}`)
    } finally {
      await store.close()
    }
    rmSync(folder, { recursive: true })
  }

  #count({ kind }: Note): void {
    if (kind === 'created' || kind === 'removed' || kind === 'trimmed' || kind === 'swept') this.counts[kind]++
  }
}

class Child {
  readonly opened: Promise<void>
  /** Resolves when all that it noted was taken. */
  readonly exited: Promise<void>
  readonly #process: ChildProcess
  #stderr = ''

  constructor(args: readonly string[], onNote: (note: Note) => void) {
    this.#process = spawn(process.execPath, [lifeProgram, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.opened = promise
    this.opened.catch(() => {})
    const lines = createInterface({ input: this.#process.stdout! })
    lines.on('line', (line) => {
      const note = JSON.parse(line) as Note // a line is written at once, or not at all
      if (note.kind === 'opened') resolve()
      onNote(note)
    })
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARS_MAX)
    })
    const read = new Promise<void>((done) => lines.once('close', done))
    const closed = new Promise<number | null>((done) => this.#process.once('close', done))
    this.exited = Promise.all([closed, read]).then(([code]) => {
      reject(new Error(`a life ended before it began: ${this.#stderr}`))
      if (code !== null && code !== 0) throw new Error(`a life ended with ${code}: ${this.#stderr}`)
    })
    this.exited.catch(() => {})
  }

  get stderr(): string {
    return this.#stderr
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.exited
  }
}
