/** Inspects a PostgreSQL store without opening it. */
import { loadPg } from './load-pg.ts'
import { connectionConfig } from './database.ts'
import type { OpenPostgresOptions } from './index.ts'
import { checkSchemaName, SCHEMA_VERSION } from './schema.ts'

export interface PostgresCondition {
  readonly server: string
  /** Schema version; 0: no tables. */
  readonly schema: number
  readonly current: number
  /** Whether acknowledged commits are on disk. */
  readonly fsync: boolean
  readonly synchronousCommit: string
  /** The setting `synchronous_standby_names`; empty: commits wait for no replica. */
  readonly standbys: string
  readonly isReplica: boolean
}

/** Read-only. */
export async function inspectPostgres(
  options: Pick<OpenPostgresOptions, 'url' | 'schema'>,
): Promise<PostgresCondition> {
  const schema = checkSchemaName(options.schema ?? 'holdfast')
  const pg = await loadPg()
  const client = new pg.default.Client(connectionConfig(options.url))
  await client.connect()
  try {
    const { rows } = await client.query<Omit<PostgresCondition, 'schema' | 'current'>>(
      `SELECT current_setting('server_version') AS server, current_setting('fsync') = 'on' AS fsync,
         current_setting('synchronous_commit') AS "synchronousCommit",
         current_setting('synchronous_standby_names') AS standbys, pg_is_in_recovery() AS "isReplica"`,
    )
    const tables = await client.query('SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = $2', [
      schema,
      'version',
    ])
    const version =
      tables.rowCount === 0
        ? undefined
        : await client.query<{ version: number }>(`SELECT version FROM ${schema}.version`)
    return { ...rows[0]!, schema: version?.rows[0]?.version ?? 0, current: SCHEMA_VERSION }
  } finally {
    await client.end()
  }
}
