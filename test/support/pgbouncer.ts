/** A real PgBouncer with transaction pooling, in front of a PostgreSQL server. */
import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { ensureAptPackage } from './apt.ts'
import { freePort } from './free-port.ts'
import { type PostgresServer, postgresIdentity } from './postgres.ts'
import { temporaryFolder } from './temporary.ts'
import { until } from './until.ts'

const PROGRAM = '/usr/sbin/pgbouncer'

/** Returns its address; stopped after the test. */
export async function startPgBouncer(server: PostgresServer): Promise<string> {
  await ensureAptPackage('pgbouncer', PROGRAM)
  const folder = temporaryFolder()
  chmodSync(folder, 0o755)
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
postgres = host=127.0.0.1 port=${server.port} user=holdfast
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`,
  )
  const child = spawn(PROGRAM, ['-q', file], {
    ...postgresIdentity(),
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const url = `postgres://holdfast@127.0.0.1:${port}/postgres`
  await until('PgBouncer accepts connections', () => answers(url))
  return url
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client(url)
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
