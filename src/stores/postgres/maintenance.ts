/** Maintenance of a PostgreSQL store without opening it. */
import { loadPg } from './load-pg.ts'
import { connectionConfig } from './database.ts'
import type { OpenPostgresOptions } from './index.ts'
import { checkSchemaName, migrated, SCHEMA_VERSION } from './schema.ts'

/** Migrates the tables; safe while others use them. Returns the previous version; 0: there were none. */
export async function migratePostgres({
  url,
  schema = 'holdfast',
}: Pick<OpenPostgresOptions, 'url' | 'schema'>): Promise<{ readonly from: number; readonly to: number }> {
  const pg = await loadPg()
  return { from: await migrated(pg, connectionConfig(url), checkSchemaName(schema)), to: SCHEMA_VERSION }
}
