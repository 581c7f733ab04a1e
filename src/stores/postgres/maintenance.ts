/** What is done for a PostgreSQL store without opening it as one. */
import { optionalPackage } from '../../core/runtime/optional-package.ts'
import { connectionConfig } from './database.ts'
import type { OpenPostgresOptions } from './index.ts'
import { checkSchemaName, migrated, SCHEMA_VERSION } from './schema.ts'

/** Brings the tables up to date, whoever else uses them; 0 is a schema without any. */
export async function migratePostgres({
  url,
  schema = 'holdfast',
}: Pick<OpenPostgresOptions, 'url' | 'schema'>): Promise<{ readonly from: number; readonly to: number }> {
  const pg = await optionalPackage('the PostgreSQL store', 'pg', () => import('pg'))
  return { from: await migrated(pg, connectionConfig(url), checkSchemaName(schema)), to: SCHEMA_VERSION }
}
