/** What can be found out about a store, and done for it, without opening it as one. */
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { HoldfastError, messageOf } from '../core/errors.ts'
import { lockFile, openDatabase } from '../stores/sqlite/file.ts'
import { SCHEMA_VERSION } from '../stores/sqlite/schema.ts'
import type { StoreConfig } from './config.ts'

export interface SchemaChange {
  readonly from: number
  readonly to: number
}

/** Brings the schema of a store up to date. The store must exist, and nobody may be using it. */
export function migrateStore(config: StoreConfig): SchemaChange {
  if (config.kind !== 'sqlite')
    throw new HoldfastError('unsupported', `a store of the kind ${config.kind} has no schema`)
  const { path } = config
  if (!existsSync(path)) throw new Error(`there is no store ${path}; a new one is made by whoever first uses it`)
  const lock = lockFile(path)
  try {
    const from = schemaOf(path)
    openDatabase(path).close()
    return { from, to: SCHEMA_VERSION }
  } finally {
    lock.release()
  }
}

export type StoreCondition =
  | { readonly state: 'absent' }
  | { readonly state: 'in use' }
  | { readonly state: 'unusable'; readonly reason: string }
  | { readonly state: 'usable'; readonly bytes: number; readonly schema: number; readonly current: number }

/** Looks at a SQLite file, and changes nothing in it. */
export function inspectSqlite(path: string): StoreCondition {
  if (!existsSync(path)) return { state: 'absent' }
  let lock: ReturnType<typeof lockFile>
  try {
    lock = lockFile(path)
  } catch (cause) {
    const reason = messageOf(cause)
    return reason.includes('is in use') ? { state: 'in use' } : { state: 'unusable', reason }
  }
  try {
    const schema = schemaOf(path)
    if (schema === SCHEMA_VERSION) openDatabase(path).close() // which looks for damage
    return { state: 'usable', bytes: statSync(path).size, schema, current: SCHEMA_VERSION }
  } catch (cause) {
    return { state: 'unusable', reason: messageOf(cause) }
  } finally {
    lock.release()
  }
}

function schemaOf(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
  } finally {
    database.close()
  }
}
