/** What is done for a PostgreSQL store without opening it as one. */
import { optionalPackage } from '../../core/optional-package.ts'
import { connectionConfig } from './database.ts'
import type { OpenPostgresOptions } from './index.ts'
import { checkSchemaName, migrate, SCHEMA_VERSION } from './schema.ts'

/** Brings the tables up to date, whoever else uses them; 0 is a schema without any. */
export async function migratePostgres({
  url,
  schema = 'holdfast',
}: Pick<OpenPostgresOptions, 'url' | 'schema'>): Promise<{ readonly from: number; readonly to: number }> {
  const pg = await optionalPackage('the PostgreSQL store', 'pg', () => import('pg'))
  const client = new pg.default.Client(connectionConfig(url))
  await client.connect()
  try {
    return { from: await migrate(client, checkSchemaName(schema)), to: SCHEMA_VERSION }
  } finally {
    await client.end()
  }
}
