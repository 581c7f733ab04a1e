import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { temporaryDatabase } from '../../../../test/support/temporary.ts'
import { Vacuum } from './vacuum.ts'

const FREE_PAGES = 8000

function freePages(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA freelist_count').get()!['freelist_count'])
}

test('SQLite: free pages are returned in slices, small ones beside other work, and some are kept', () => {
  using database = new DatabaseSync(temporaryDatabase())
  database.exec(`PRAGMA auto_vacuum = INCREMENTAL; CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER); CREATE TABLE filler (data BLOB);
    INSERT INTO filler VALUES (zeroblob(${FREE_PAGES * 4096})); DELETE FROM filler`)
  const vacuum = new Vacuum(database)
  const returned = (isIdle: boolean): number => {
    const before = freePages(database)
    vacuum.run(isIdle)
    return before - freePages(database)
  }
  expect(freePages(database)).toBeGreaterThan(FREE_PAGES - 100)
  expect(returned(false)).toBe(64)
  expect(vacuum.more).toBe(true)
  expect(returned(true)).toBe(1024)
  while (vacuum.more) vacuum.run(true)
  expect(freePages(database)).toBe(4096)
  expect(returned(true)).toBe(0)
})
