/** Many nodes on one PostgreSQL database. */
import { expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { STORM_MS, weatherStorm } from './nodes/storm.ts'

const server = await startPostgres()

test(
  '[LOG-1] [LOG-3] [LOG-4] [LOG-5] [RUN-1] [RUN-2] [RUN-4] PostgreSQL: three nodes are killed in turn, and every client gets its whole run',
  async () => {
    const { recovered, kills } = await weatherStorm(server.url, () => readLogs(server))
    expect(recovered).toBeGreaterThan(0)
    expect(kills).toBeGreaterThan(0)
  },
  STORM_MS,
)

/** The logs as the database has them, in the order of their pieces. */
async function readLogs(database: PostgresServer): Promise<Map<string, Buffer>> {
  const rows = await database.query<{ id: string; log: Buffer }>(
    `SELECT h.id, string_agg(l.data, ''::bytea ORDER BY l.first) AS log
     FROM holdfast.heads h JOIN holdfast.log l ON l.run = h.number GROUP BY h.id`,
  )
  return new Map(rows.map(({ id, log }) => [id, log]))
}
