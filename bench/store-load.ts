/** The store alone, in a process of its own: many runs at once, each with a few events on their way to the disk. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openSqliteStore } from '../src/stores/sqlite/index.ts'
import { answer, ready } from './answering.ts'
import { OpenRun, textRecord } from './open-run.ts'

export interface StoreLoad {
  /** `bare`: the ceiling of this machine at this moment, one SQLite row per commit and nothing else. */
  readonly kind: 'store' | 'bare'
  readonly directory: string
  readonly runs: number
  /** Events that a run appends at a time. It goes on to the next ones while these are on their way, as agents do. */
  readonly eventsAtOnce: number
  /** Written before the measurement begins, in the same way. */
  readonly prefill: number
  readonly events: number
}

export interface StoreResult {
  readonly eventsPerSecond: number
  readonly cpuMicrosPerEvent: number
  /** Share of all bytes that compaction had not got to at the end. */
  readonly backlog: number
}

async function loadStore({ directory, runs, eventsAtOnce, prefill, events }: StoreLoad): Promise<StoreResult> {
  const path = join(directory, 'store.db')
  const store = await openSqliteStore({ path })
  const open = await Promise.all(Array.from({ length: runs }, () => OpenRun.create(store)))
  const marks: Mark[] = []
  const bounds = [prefill, prefill + events]
  let durable = 0
  const write = async (run: OpenRun): Promise<void> => {
    run.append(eventsAtOnce)
    let earlier = run.flush()
    // The commit of the first ones is under way when the second ones come.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
    while (durable < prefill + events) {
      run.append(eventsAtOnce)
      const later = run.flush()
      await earlier
      earlier = later
      durable += eventsAtOnce
      if (durable >= bounds[marks.length]!) marks.push(mark())
    }
    await earlier
  }
  await Promise.all(open.map(write))
  const [start, end] = marks
  const backlog = uncompacted(path)
  await store.close()
  return { ...between(start!, end!, events), backlog }
}

function loadBare({ directory, runs, eventsAtOnce, prefill, events }: StoreLoad): StoreResult {
  const database = new DatabaseSync(join(directory, 'bare.db'))
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE log (seq INTEGER PRIMARY KEY, data BLOB)',
  )
  const insert = database.prepare('INSERT INTO log (data) VALUES (?)')
  const id = 'run_00000000000000000000000000'
  let start: Mark | undefined
  for (let index = 0; index < prefill + events;) {
    if (index >= prefill) start ??= mark()
    const records: string[] = []
    for (let record = 0; record < runs * eventsAtOnce; record++) records.push(textRecord(id, index++))
    insert.run(Buffer.from(records.join('')))
  }
  const end = mark()
  database.close()
  return { ...between(start!, end, events), backlog: 1 }
}

function between(start: Mark, end: Mark, events: number): Pick<StoreResult, 'eventsPerSecond' | 'cpuMicrosPerEvent'> {
  return {
    eventsPerSecond: (events / (end.ms - start.ms)) * 1000,
    cpuMicrosPerEvent: (end.cpuMicros - start.cpuMicros) / events,
  }
}

interface Mark {
  readonly ms: number
  readonly cpuMicros: number
}

function mark(): Mark {
  const { user, system } = process.cpuUsage()
  return { ms: performance.now(), cpuMicros: user + system }
}

function uncompacted(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true })
  const bytes = (name: string): number =>
    Number(database.prepare(`SELECT coalesce(sum(length(data)), 0) AS bytes FROM ${name}`).get()!['bytes'])
  const log = bytes('log')
  const share = log / (log + bytes('segments'))
  database.close()
  return share
}

answer((load: StoreLoad) => (load.kind === 'store' ? loadStore(load) : loadBare(load)))
ready()
