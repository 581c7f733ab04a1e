/** Inspects and migrates a store without opening it for use. */
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { HoldfastError, detailOf } from '../../core/model/errors.ts'
import { type Examination, examineFile } from '../../stores/sqlite/file/examine.ts'
import { modeWarnings } from '../../stores/sqlite/file/file-access.ts'
import { openDatabase } from '../../stores/sqlite/file/database-file.ts'
import { lockFile } from '../../stores/sqlite/file/lock.ts'
import { SCHEMA_VERSION, schemaVersionOf } from '../../stores/sqlite/tables/schema.ts'
import { damageOr } from '../../stores/sqlite/file/sqlite-errors.ts'
import { stuckBytes } from '../../stores/sqlite/committing/vacuum.ts'
import type { StoreConfig } from '../config/config-options.ts'
import { openStore } from './open-store.ts'

export interface SchemaChange {
  readonly from: number
  readonly to: number
}

/** Migrates a store's schema. Returns undefined if its previous version is unknown. */
export async function migrateStore(config: StoreConfig): Promise<SchemaChange | undefined> {
  if (config.kind === 'sqlite') return migrateSqlite(config.path)
  if (config.kind === 'memory') throw new HoldfastError('unsupported', 'a store in memory has no schema')
  if (config.kind === 'postgres') {
    const { migratePostgres } = await import('../../stores/postgres/maintenance.ts')
    return migratePostgres(config)
  }
  await (await openStore(config)).close() // opening migrates it, even while in use
  return undefined
}

/** The file must exist and not be in use. */
function migrateSqlite(path: string): SchemaChange {
  if (!existsSync(path)) throw new Error(`there is no store ${path}; the first server that uses it creates it`)
  const lock = lockFile(path)
  try {
    const from = schemaOf(lock.path)
    openDatabase(lock.path).close()
    return { from, to: SCHEMA_VERSION }
  } finally {
    lock.release()
  }
}

export type StoreCondition =
  | { readonly state: 'absent' }
  | { readonly state: 'in use' }
  | { readonly state: 'unusable'; readonly reason: string }
  | {
      readonly state: 'usable'
      readonly bytes: number
      /** Free bytes that the file does not return to the file system by itself. */
      readonly stuckBytes: number
      readonly schema: number
      readonly current: number
      /** Corruption report; undefined for an older schema, which is not examined. */
      readonly examination: Examination | undefined
      /** Insecure file permissions. */
      readonly warnings: readonly string[]
    }

/** Inspects a SQLite file read-only. */
export function inspectSqlite(path: string): StoreCondition {
  if (!existsSync(path)) return { state: 'absent' }
  let lock: ReturnType<typeof lockFile>
  try {
    lock = lockFile(path)
  } catch (cause) {
    const reason = detailOf(cause)
    return reason.includes('is in use') ? { state: 'in use' } : { state: 'unusable', reason }
  }
  try {
    const schema = schemaOf(lock.path)
    const contents = schema === SCHEMA_VERSION ? contentsOf(lock.path) : { stuckBytes: 0, examination: undefined }
    const warnings = modeWarnings(lock.path)
    const { size: bytes } = statSync(lock.path)
    return { state: 'usable', bytes, ...contents, schema, current: SCHEMA_VERSION, warnings }
  } catch (cause) {
    return { state: 'unusable', reason: detailOf(cause) }
  } finally {
    lock.release()
  }
}

/** Opens the file like a store and examines its contents. */
function contentsOf(path: string): { readonly stuckBytes: number; readonly examination: Examination } {
  using database = openDatabase(path)
  return { stuckBytes: stuckBytes(database), examination: examineFile(database, path) }
}

/** Throws if the file is corrupt, belongs to another program, or has a newer schema. */
function schemaOf(path: string): number {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true })
    return schemaVersionOf(database, path)
  } catch (cause) {
    throw damageOr(path, cause)
  } finally {
    database?.close()
  }
}
