/** A dedicated PostgreSQL server that syncs every commit. A store is a schema. */
import { PostgresServer } from '../../test/support/postgres.ts'
import { cpuMicrosOf, type Medium } from './medium.ts'

/** Defaults, except for buffers of a server with 256 MB, and infrequent checkpoints. */
const SETTINGS = ['max_connections=200', 'shared_buffers=256MB', 'max_wal_size=4GB', 'checkpoint_timeout=30min']

export async function postgresMedium(): Promise<Medium> {
  const server = await PostgresServer.create()
  await server.start(SETTINGS)
  let places = 0
  return {
    name: 'postgres',
    shared: true,
    place: () => `${server.url}?schema=bench_${places++}`,
    async usage(address) {
      const [row] = await server.query<{ stored: string; logged: string }>(
        `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS stored, pg_current_wal_lsn() - '0/0' AS logged
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`,
        [schemaOf(address)],
      )
      const { stored, logged } = row!
      return {
        cpuMicros: cpuMicrosOf(server.pid),
        storedBytes: Number(stored),
        replicatedBytes: Number(logged),
      }
    },
    async clear(address) {
      await server.query(`DROP SCHEMA IF EXISTS ${schemaOf(address)} CASCADE`)
    },
    stop: () => server.remove(),
  }
}

function schemaOf(address: string): string {
  return new URL(address).searchParams.get('schema')!
}
