/** One row per commit. */
import { DatabaseSync } from 'node:sqlite'
import { type BareLoad, textOf } from './bare.ts'

export function bareSqlite({ address, runs, eventsAtOnce, meter }: BareLoad): void {
  const database = new DatabaseSync(address.slice('sqlite:'.length))
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE log (seq INTEGER PRIMARY KEY, data BLOB)',
  )
  const insert = database.prepare('INSERT INTO log (data) VALUES (?)')
  for (let first = 0; !meter.isDone; first += eventsAtOnce) {
    insert.run(Buffer.from(Array.from({ length: runs }, (_, run) => textOf(run, first, eventsAtOnce)).join('')))
    meter.add(runs * eventsAtOnce)
  }
  database.close()
}
