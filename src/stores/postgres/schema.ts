/** Schema migrations, safe for any number of concurrent nodes. */
import type { ClientBase, ClientConfig } from 'pg'
import type { Pg } from './database.ts'
import { functions, nodes } from './functions.ts'
import { listingIndexes } from './listing-indexes.ts'
import { tables } from './tables.ts'
import { turnsIndexes } from './fair-order.ts'

/** Steps from one version to the next. A step must keep the functions that the previous version calls. */
const migrations: readonly ((schema: string) => string)[] = [
  (schema) => tables(schema) + functions(schema),
  turnsIndexes,
  nodes,
  listingIndexes,
]

export const SCHEMA_VERSION: number = migrations.length

/** Anything that can send a query. */
type Session = Pick<ClientBase, 'query'>

/** PostgreSQL 15, as in `server_version_num`. */
const SERVER_VERSION_MIN = 150_000

export function checkSchemaName(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,39}$/.test(schema)) return schema
  throw new Error(
    `${JSON.stringify(schema)} is not a valid schema name: use 1 to 40 lower-case letters, digits or '_', not starting with a digit`,
  )
}

/** Uses a connection without timeouts: a step may read a large table. */
export async function migrated(pg: Pg, config: ClientConfig, schema: string): Promise<number> {
  const client = new pg.default.Client(config)
  client.on('error', () => {}) // the pending call rejects with it
  await client.connect()
  try {
    return await migrate(client, schema)
  } finally {
    await client.end()
  }
}

/** Returns the previous version, 0 if there were no tables. */
async function migrate(session: Session, schema: string): Promise<number> {
  await checkServer(session)
  // If the schema is current, no DDL rights and no lock are needed.
  if (newest(await versionOf(session, schema), schema)) return SCHEMA_VERSION
  await session.query('BEGIN')
  try {
    // Transaction-scoped: a session lock would stay on a connection that a pooling proxy hands to others.
    await session.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`holdfast schema ${schema}`])
    const version = await versionOf(session, schema)
    if (!newest(version, schema)) {
      if (version === 0) await session.query(create(schema))
      for (const step of migrations.slice(version)) await session.query(step(schema))
      await session.query(`UPDATE ${schema}.version SET version = ${SCHEMA_VERSION}`)
    }
    await session.query('COMMIT')
    return version
  } catch (cause) {
    await session.query('ROLLBACK').catch(() => {}) // the server rolls back a broken session itself
    throw cause
  }
}

function create(schema: string): string {
  return `CREATE SCHEMA IF NOT EXISTS ${schema};
    CREATE TABLE ${schema}.version (version integer NOT NULL);
    INSERT INTO ${schema}.version VALUES (0);`
}

async function checkServer(session: Session): Promise<void> {
  const { rows } = await session.query<{ number: string; version: string; encoding: string }>(
    `SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding`,
  )
  const { number, version, encoding } = rows[0]!
  if (Number(number) < SERVER_VERSION_MIN)
    throw new Error(`Holdfast needs PostgreSQL 15 or later, but this server is ${version}`)
  if (encoding !== 'UTF8')
    throw new Error(`Holdfast needs a database with the encoding UTF8, but this one has ${encoding}`)
}

/**
 * 0 if there are no Holdfast tables. Queries the catalogue: `to_regclass` may cache that a table is missing and not see one
 * that was created while this session waited for the lock.
 */
async function versionOf(session: Session, schema: string): Promise<number> {
  const { rowCount } = await session.query(
    `SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'version'`,
    [schema],
  )
  if (rowCount === 0) return 0
  const found = await session.query<{ version: number }>(`SELECT version FROM ${schema}.version`)
  return found.rows[0]?.version ?? 0
}

function newest(version: number, schema: string): boolean {
  if (version <= SCHEMA_VERSION) return version === SCHEMA_VERSION
  throw new Error(
    `the schema ${schema} was made by a newer Holdfast (version ${version}; this one knows up to ${SCHEMA_VERSION}); update Holdfast or name another schema`,
  )
}
