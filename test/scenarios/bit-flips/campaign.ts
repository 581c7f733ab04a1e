/** Flips single bits of a database file, and reads everything from a store on it. */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../../src/core/ports/clock.ts'
import { silentLogger } from '../../../src/core/ports/logger.ts'
import { inspectSqlite } from '../../../src/server/store/store-maintenance.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { newRun, RunWriter } from '../../../src/testing/fixtures.ts'
import { crashedCopy } from '../../support/crashed-copy.ts'
import type { Random } from '../../support/random.ts'
import { type Contents, contentsOf, DAMAGED, type Known, MISSING, ownerOf } from './contents.ts'

const RUNS = 24
const TIME = '2026-01-01T00:00:00.000Z'
/** Files that belong to one store. */
const SUFFIXES = ['', '-wal', '-commits'] as const

export interface Specimen {
  readonly path: string
  readonly known: Known
  /** Results of an undamaged store. */
  readonly contents: Contents
}

export interface Specimens {
  /** The file after a clean shutdown: all records are in segments. */
  readonly closed: Specimen
  /** The file after a crash: the last commits are in the write-ahead log. */
  readonly crashed: Specimen
  /** The same, checkpointed: the log has rows that are not in segments yet. */
  readonly unclean: Specimen
}

/** Runs that are over and runs under way, of two owners, with long and short logs, and some documents. */
export async function makeSpecimens(folder: string): Promise<Specimens> {
  const path = join(folder, 'made.db')
  const store = await openSqliteStore({ path })
  const runs = Array.from({ length: RUNS }, (_, number) => `run_${number}`)
  const write = async (id: string, number: number): Promise<void> => {
    const draft = newRun(id, TIME, {
      owner: ownerOf(id),
      claim: { worker: 'worker', ttlMs: 60_000 },
      idempotency: { key: `key of ${id}`, fingerprint: 'same' },
      metadata: { note: `metadata of ${id}`.repeat(10) },
    })
    const { stored } = await store.create(draft)
    const runWriter = new RunWriter(store, systemClock, stored, [draft.record])
    runWriter.start()
    for (let text = 0; text < 20 + number * 30; text++) {
      runWriter.text(`${id} says ${text}: ${'lorem ipsum '.repeat(text % 7)}`)
      if (text % 25 === 0) await runWriter.flush()
    }
    if (number % 4 !== 0) runWriter.complete()
    await runWriter.flush()
  }
  await Promise.all(runs.map(write))
  const documents = runs.map((id) => ({ owner: ownerOf(id), id }))
  for (const { owner, id } of documents)
    await store.documents.put({
      owner,
      collection: 'notes',
      id,
      title: `title of ${id}`,
      body: { text: id.repeat(50) },
    })
  const known = { runs, documents }
  const crashed = join(folder, 'crashed.db')
  crashedCopy(path, crashed)
  copyFileSync(`${path}-commits`, `${crashed}-commits`)
  const contents = withoutLeases(await contentsOf(store, known))
  await store.close()
  const unclean = join(folder, 'unclean.db')
  for (const suffix of SUFFIXES) copyFileSync(crashed + suffix, unclean + suffix)
  {
    using database = new DatabaseSync(unclean)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }
  return {
    closed: { path, known, contents: await contentsIn(path, known) },
    crashed: { path: crashed, known, contents },
    unclean: { path: unclean, known, contents },
  }
}

async function contentsIn(path: string, known: Known): Promise<Contents> {
  const store = await openSqliteStore({ path })
  try {
    return await contentsOf(store, known)
  } finally {
    await store.close()
  }
}

/** Leases are kept in memory only. */
function withoutLeases(contents: Contents): Contents {
  return new Map(
    [...contents].map(([question, answer]) => {
      if (!answer.startsWith('{"run":')) return [question, answer]
      const { lease: _lease, ...stored } = JSON.parse(answer) as { lease?: unknown }
      return [question, JSON.stringify(stored)]
    }),
  )
}

export interface Flip {
  /** Suffix of the file that is flipped. */
  readonly file: '' | '-wal'
  readonly byte: number
  readonly bit: number
}

export interface Verdict {
  /** The store reported why it could not be opened; or it opened and refuses all writes. */
  readonly refused?: string
  /** Wrong responses without an error. None is allowed. */
  readonly wrong: readonly string[]
  readonly damaged: readonly string[]
  readonly missing: readonly string[]
  /** Responses with the state of an earlier commit. */
  readonly older: readonly string[]
  /** Logs and health of the store. */
  readonly told: readonly string[]
  /** Findings of the doctor before the store is opened. */
  readonly doctor: readonly string[]
}

export function randomFlip(random: Random, { path }: Specimen, file: Flip['file']): Flip {
  const { length } = readFileSync(path + file)
  return { file, byte: random.between(0, length - 1), bit: random.between(0, 7) }
}

export async function judge(folder: string, specimen: Specimen, flip: Flip): Promise<Verdict> {
  const place = mkdtempSync(join(folder, 'flip-'))
  const path = join(place, 'runs.db')
  try {
    for (const suffix of SUFFIXES)
      if (existsSync(specimen.path + suffix)) copyFileSync(specimen.path + suffix, path + suffix)
    const bytes = readFileSync(path + flip.file)
    bytes[flip.byte]! ^= 1 << flip.bit
    writeFileSync(path + flip.file, bytes)
    return await askAll(path, specimen)
  } finally {
    rmSync(place, { recursive: true })
  }
}

async function askAll(path: string, { known, contents }: Specimen): Promise<Verdict> {
  const reported: string[] = []
  const doctor = diagnosis(path)
  const tell = (_fields: object, message: string): void => void reported.push(message)
  const sorted: Sorted = { wrong: [], damaged: [], missing: [], older: [] }
  const verdict = { ...sorted, told: reported, doctor }
  try {
    const store = await openSqliteStore({ path, logger: { ...silentLogger, warn: tell, error: tell } })
    try {
      compare(contents, await contentsOf(store, known), verdict)
      const health = store.health()
      reported.push(...(health.ok ? (health.alarms ?? []) : [health.reason]))
    } finally {
      await store.close()
    }
    return verdict
  } catch (cause) {
    return { ...verdict, refused: String(cause) }
  }
}

function diagnosis(path: string): readonly string[] {
  const condition = inspectSqlite(path)
  if (condition.state === 'unusable') return [condition.reason]
  return condition.state === 'usable' ? (condition.examination?.problems ?? []) : []
}

function compare(expected: Contents, found: Contents, { wrong, damaged, missing, older }: Sorted): void {
  for (const [question, answer] of expected) {
    const other = found.get(question) ?? MISSING
    if (other === answer) continue
    if (other === DAMAGED) damaged.push(question)
    else if (other === MISSING) missing.push(question)
    else if (isOlder(question, other, answer)) older.push(question)
    else wrong.push(`${question}: ${differenceOf(other, answer)}`)
  }
  for (const question of found.keys()) if (!expected.has(question)) wrong.push(`${question} was never there`)
}

interface Sorted {
  readonly wrong: string[]
  readonly damaged: string[]
  readonly missing: string[]
  readonly older: string[]
}

/** A log is a prefix of the original; a run has fewer events. */
function isOlder(question: string, found: string, expected: string): boolean {
  if (question.startsWith('log ')) return expected.startsWith(found)
  return !question.includes('document') && nextOf(found) < nextOf(expected)
}

function nextOf(stored: string): number {
  return (JSON.parse(stored) as { next?: number }).next ?? -1
}

function differenceOf(found: string, expected: string): string {
  let at = 0
  while (at < found.length && found[at] === expected[at]) at++
  const excerpt = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 30), at + 30))
  return `${excerpt(found)} and not ${excerpt(expected)}`
}
