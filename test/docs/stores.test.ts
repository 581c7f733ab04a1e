/** The shell blocks of docs/stores.md, typed into terminals, with local servers in place of those that the page names. */
import { describe, expect, test } from 'vitest'
import { blocksOf } from '../support/doc-programs.ts'
import { startNatsCluster } from '../support/nats.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { startPostgres } from '../support/postgres.ts'
import { ProjectReader } from '../support/project-reader.ts'

const blocks = blocksOf('docs/stores.md', 'sh')
const TEST_MS = 400_000
const [postgres, nats] = await Promise.all([startPostgres(), startNatsCluster(3)])

/** Text that identifies each block; the tests below run them all. */
const MARKS = ['sqlite:', '@db.example', 'pgbouncer', 'nats://'] as const

/** Types a block with other addresses, and returns a run of the agent at the server that it starts. */
async function runOn(mark: (typeof MARKS)[number], addresses: Readonly<Record<string, string>> = {}): Promise<string> {
  const reader = await ProjectReader.create()
  const lines = blocks
    .find((block) => block.includes(mark))!
    .trimEnd()
    .split('\n')
  for (const line of lines.slice(0, -1)) await reader.run(line)
  let serve = lines.at(-1)!
  for (const [documented, actual] of Object.entries(addresses)) {
    expect(serve).toContain(documented)
    serve = serve.replace(documented, actual)
  }
  await reader.serve(serve)
  return reader.start('hello')
}

describe('docs/stores.md', { timeout: TEST_MS }, () => {
  test('docs/stores.md: every shell block is run by a test of this file', () => {
    for (const mark of MARKS) expect(blocks.filter((block) => block.includes(mark))).toHaveLength(1)
    expect(blocks).toHaveLength(MARKS.length)
  })

  test('docs/stores.md: a server stores runs in SQLite', async () => {
    expect(await runOn('sqlite:')).toMatch(/^run_/)
  })

  test('docs/stores.md: a server stores runs in PostgreSQL', async () => {
    const addresses = { 'postgres://user:password@db.example:5432/app': postgres.url }
    expect(await runOn('@db.example', addresses)).toMatch(/^run_/)
  })

  test('docs/stores.md: a server stores runs in PostgreSQL behind PgBouncer', async () => {
    const pooler = await startPgBouncer(postgres)
    const addresses = {
      'postgres://user:password@pgbouncer:6432/app': pooler,
      'db.example:5432': `127.0.0.1:${postgres.port}`,
    }
    expect(await runOn('pgbouncer', addresses)).toMatch(/^run_/)
  })

  test('docs/stores.md: a server stores runs in a NATS cluster with three replicas', async () => {
    const addresses = { 'n1.example,n2.example,n3.example': nats.map(({ address }) => address).join(',') }
    expect(await runOn('nats://', addresses)).toMatch(/^run_/)
  })
})
