/** What can be found out about a store, and done for it, without opening it as one. */
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { HoldfastError, messageOf } from '../core/errors.ts'
import { damageOr, lockFile, openDatabase } from '../stores/sqlite/file.ts'
import { checkVersion, SCHEMA_VERSION } from '../stores/sqlite/schema.ts'
import type { StoreConfig } from './config-options.ts'
import { openStore } from './open-store.ts'

export interface SchemaChange {
  readonly from: number
  readonly to: number
}

/** Brings the schema of a store up to date; undefined where it cannot be told what it was before. */
export async function migrateStore(config: StoreConfig): Promise<SchemaChange | undefined> {
  if (config.kind === 'sqlite') return migrateSqlite(config.path)
  if (config.kind === 'memory') throw new HoldfastError('unsupported', 'a store in memory has no schema')
  if (config.kind === 'postgres') {
    const { migratePostgres } = await import('../stores/postgres/care.ts')
    return migratePostgres(config)
  }
  await (await openStore(config)).close() // which brings it up to date, whoever else uses it
  return undefined
}

/** The file must exist, and nobody may be using it. */
function migrateSqlite(path: string): SchemaChange {
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

/** Throws for a file that is damaged, of another program, or of a newer version. */
function schemaOf(path: string): number {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true })
    const [application, version] = ['application_id', 'user_version'].map((name) =>
      Number(database!.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0),
    ) as [number, number]
    checkVersion(application, version, path)
    return version
  } catch (cause) {
    throw damageOr(path, cause)
  } finally {
    database?.close()
  }
}
