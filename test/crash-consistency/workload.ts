/**
 * The traced program: writes, trims, empties and compacts a store. Before each command and after its acknowledgement it prints a
 * line, so that the trace has both in order with the writes and syncs of the store. Arguments: the database, a file for the records.
 */
import { writeFileSync, writeSync } from 'node:fs'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import type { Step } from './expectation.ts'

const [path, recordsFile] = process.argv.slice(2) as [string, string]
const written = new Map<string, RunWriter>()

function tell(step: Step): void {
  writeSync(1, `${JSON.stringify(step)}\n`)
}

async function start(store: Store, id: string): Promise<RunWriter> {
  const draft = newRun(id, new Date().toISOString(), { claim: { worker: 'worker-1', ttlMs: 600_000 } })
  const { stored } = await store.create(draft)
  tell({ did: 'append', run: id, next: 1 })
  const writer = new RunWriter(store, systemClock, stored, [draft.record])
  writer.start()
  written.set(id, writer)
  return writer
}

async function flush(writer: RunWriter): Promise<void> {
  const next = writer.records.length
  await writer.flush()
  tell({ did: 'append', run: writer.id, next })
}

async function say(writer: RunWriter, texts: number, characters: number): Promise<void> {
  for (let index = 0; index < texts; index++) {
    writer.text(String.fromCodePoint(97 + (index % 26)).repeat(characters))
    if (index % 7 === 6) await flush(writer)
  }
  await flush(writer)
}

async function complete(writer: RunWriter): Promise<void> {
  writer.complete()
  await flush(writer)
}

async function remove(store: Store, run: string): Promise<void> {
  tell({ begins: 'remove', run })
  await store.remove(run)
  tell({ did: 'remove', run })
}

async function trim(store: Store, run: string, first: number): Promise<void> {
  tell({ begins: 'trim', run, first })
  await store.trim(run, first)
}

/** Each life opens the file anew. Long texts of the second make SQLite checkpoint and restart its journal. */
for (const [life, characters] of [
  [1, 500],
  [2, 12_000],
] as const) {
  const store = await openSqliteStore({ path })
  const long = await start(store, `run_${life}_long`)
  const short = await Promise.all(Array.from({ length: 6 }, (_, at) => start(store, `run_${life}_${at}`)))
  await Promise.all(short.map((writer) => say(writer, 8, 40)))
  await Promise.all(short.slice(0, 4).map(complete))
  await say(long, 60, 300)
  await remove(store, short[0]!.id)
  await trim(store, long.id, 20)
  await say(long, 280, characters)
  await complete(long)
  await trim(store, long.id, 200)
  await remove(store, short[1]!.id)
  await say(short[4]!, 20, 30)
  await store.close()
}
writeFileSync(recordsFile, JSON.stringify(Object.fromEntries([...written].map(([id, { records }]) => [id, records]))))
