/** SQLite files. The store's thread does all the work, so there is no server to measure. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Medium } from './medium.ts'

export function sqliteMedium(folder: () => string): Medium {
  return {
    name: 'sqlite',
    shared: false,
    place: () => `sqlite:${join(folder(), 'store.db')}`,
    usage: (address) =>
      Promise.resolve({ cpuMicros: 0, storedBytes: storedBytes(pathOf(address)), replicatedBytes: 0 }),
    async clear(address) {
      for (const suffix of ['', '-wal', '-shm']) await rm(pathOf(address) + suffix, { force: true })
    },
    stop: () => Promise.resolve(),
  }
}

/** Pages in use: the file may be larger, or smaller before a checkpoint. */
function storedBytes(path: string): number {
  if (!existsSync(path)) return 0
  const database = new DatabaseSync(path, { readOnly: true })
  const pragma = (name: string): number => Number(Object.values(database.prepare(`PRAGMA ${name}`).get()!)[0])
  const bytes = (pragma('page_count') - pragma('freelist_count')) * pragma('page_size')
  database.close()
  return bytes
}

function pathOf(address: string): string {
  return address.slice('sqlite:'.length)
}
