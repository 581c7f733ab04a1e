/** The shell blocks of docs/operations.md, typed into terminals line by line, on SQLite and a real PostgreSQL. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { blocksOf } from '../support/doc-programs.ts'
import { freePort } from '../support/free-port.ts'
import { startPostgres } from '../support/postgres.ts'
import { ProjectReader } from '../support/project-reader.ts'

const blocks = blocksOf('docs/operations.md', 'sh')
const postgres = await startPostgres()
const TEST_MS = 400_000

/** Text that identifies each block; the tests below run them all. */
const MARKS = [
  '--max-runs 0',
  'holdfast gc',
  'holdfast forget',
  'holdfast copy',
  'holdfast backup',
  'pg_dump',
  'holdfast migrate',
  '/health',
] as const

function blockWith(mark: (typeof MARKS)[number]): string[] {
  const block = blocks.find((candidate) => candidate.includes(mark))
  expect(block, `docs/operations.md has no block with ${mark}`).toBeDefined()
  return block!.trimEnd().split('\n')
}

describe('docs/operations.md', { timeout: TEST_MS }, () => {
  test('docs/operations.md: a server without slots and a worker share a store', async () => {
    const reader = await ProjectReader.create({ STORE: `${postgres.url}?schema=roles` })
    const [serve, work] = blockWith('--max-runs 0')
    await reader.serve(serve!)
    reader.work(work!)
    expect(await reader.start('hello')).toMatch(/^run_/)
    for (const line of blockWith('holdfast gc')) await reader.run(line)
  })

  test('docs/operations.md: forget deletes a principal at a server and in a store', async () => {
    const reader = await ProjectReader.create({ STORE: `${postgres.url}?schema=forget` })
    const [preview, atServer, inStore, ...more] = blockWith('holdfast forget')
    expect(more).toEqual([])
    await reader.serve('holdfast serve agents.ts --store "$STORE"')
    expect(await reader.run(preview!)).toMatch(/anna/)
    const created = await reader.run('HOLDFAST_AUTH_KEYS=keys.json holdfast keys create admin --scopes admin')
    const [key] = /hf_\w+/.exec(created) ?? []
    expect(key, created).toBeDefined()
    const guarded = await freePort()
    await reader.serve('holdfast serve agents.ts --store "$STORE" --auth-keys keys.json', guarded)
    const address = `http://127.0.0.1:${guarded}`
    await reader.run(`export ADMIN_KEY=${key}\n${atServer!.replace('https://agents.example', address)}`)
    await reader.run(inStore!)
  })

  test('docs/operations.md: copy takes the runs of SQLite to another store', async () => {
    const reader = await ProjectReader.create({ STORE: `${postgres.url}?schema=copied` })
    const server = await reader.serve('holdfast serve agents.ts')
    const run = await reader.start('hello')
    await reader.type(blockWith('holdfast copy'), server)
    expect(await reader.run(`holdfast show ${run}`)).toContain('completed')
  })

  test('docs/operations.md: a backup of SQLite is taken online and restored', async () => {
    const reader = await ProjectReader.create()
    const server = await reader.serve('holdfast serve agents.ts')
    const run = await reader.start('hello')
    await reader.type(blockWith('holdfast backup'), server)
    expect(existsSync(join(reader.folder, 'backups/2026-11-17.db'))).toBe(true)
    expect(await reader.run(`holdfast show ${run}`)).toContain('completed')
  })

  test('docs/operations.md: pg_dump and pg_restore keep the runs of PostgreSQL', async () => {
    const reader = await ProjectReader.create({ STORE: postgres.url })
    const server = await reader.serve('holdfast serve agents.ts --store "$STORE"')
    const run = await reader.start('hello')
    const [dump, restore] = blockWith('pg_dump')
    await reader.run(dump!)
    await reader.type(['kill "$SERVER"', restore!], server)
    await reader.serve('holdfast serve agents.ts --store "$STORE"')
    expect(await reader.run(`holdfast show ${run}`)).toContain('completed')
  })

  test('docs/operations.md: a node is replaced after a migration, and reports its health', async () => {
    const reader = await ProjectReader.create({ STORE: `${postgres.url}?schema=update` })
    const server = await reader.serve('holdfast serve agents.ts --store "$STORE"')
    await reader.type(blockWith('holdfast migrate'), server)
    const [ask] = blockWith('/health')
    expect(await reader.run(ask!.replace('7777', String(reader.port)))).toContain('"status":"ok"')
  })

  test('docs/operations.md: every shell block is run by a test of this file', () => {
    expect(blocks.filter((block) => !MARKS.some((mark) => block.includes(mark)))).toEqual([])
    expect(blocks).toHaveLength(MARKS.length)
  })
})
