/** The shell blocks of docs/operations.md, typed into terminals line by line, on SQLite and a real PostgreSQL. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { blocksOf } from './support/doc-programs.ts'
import { freePort } from './support/free-port.ts'
import { startPostgres } from './support/postgres.ts'
import { BLOCK_MS, isHealthy, projectFolder, readerEnvironment, Terminal } from './support/reader.ts'
import { until } from './support/until.ts'

const blocks = blocksOf('docs/operations.md', 'sh')
const postgres = await startPostgres()
const TEST_MS = 400_000

const AGENTS = `import { agent } from 'holdfast'
export const echo = agent({ id: 'echo', async *run(input) { yield String(input) } })
`

/** What tells each block from the others; the tests below run them all. */
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

/** A project with an agent; `serve` and `worker` lines keep running, all others must succeed. */
class Reader {
  readonly folder: string
  readonly port: number
  readonly #env: NodeJS.ProcessEnv
  readonly #terminal: Terminal
  #server: Terminal | undefined

  private constructor(port: number, variables: Record<string, string>) {
    const { folder, path } = projectFolder()
    this.folder = folder
    this.port = port
    this.#env = { ...readerEnvironment(path, port), ...variables }
    writeFileSync(join(folder, 'agents.ts'), AGENTS)
    this.#terminal = new Terminal(folder, this.#env)
  }

  static async create(variables: Record<string, string> = {}): Promise<Reader> {
    return new Reader(await freePort(), variables)
  }

  run(command: string): Promise<string> {
    return this.#terminal.run(command)
  }

  /** Resolves with the server's process id when it serves. */
  async serve(command: string, port = this.port): Promise<string> {
    const terminal = new Terminal(this.folder, { ...this.#env, HOLDFAST_PORT: String(port) })
    terminal.type(command)
    this.#server = terminal
    await until(`${command} serves`, () => isHealthy(port), { withinMs: BLOCK_MS }).catch((cause: unknown) => {
      throw new Error(`${command} did not serve:\n${terminal.output}`, { cause })
    })
    return until('the server names its process', () => /It is process (\d+)/.exec(terminal.output)?.[1])
  }

  work(command: string): void {
    new Terminal(this.folder, this.#env).type(command)
  }

  /** Types the lines of a block; `$SERVER` and `$NODE` are the server that runs. */
  async type(lines: readonly string[], serverPid: string): Promise<string> {
    const printed: string[] = []
    for (const line of lines) {
      if (line.startsWith('holdfast serve')) {
        await until('the server has ended', async () => !(await isHealthy(this.port)), { withinMs: BLOCK_MS })
        await this.#server?.close()
        await this.serve(line)
      } else printed.push(await this.run(`export SERVER=${serverPid} NODE=${serverPid}\n${line}`))
      if (line.startsWith('kill '))
        await until('the server has ended', async () => !(await isHealthy(this.port)), { withinMs: BLOCK_MS })
    }
    return printed.join('\n')
  }

  /** Runs the agent at the server, and resolves with the run's id. */
  async start(input: string): Promise<string> {
    const printed = await this.run(`holdfast run echo ${input} --json`)
    expect(printed).toContain('run.completed')
    return /run_\w+/.exec(printed)![0]
  }
}

describe('docs/operations.md', { timeout: TEST_MS }, () => {
  test('docs/operations.md: a server without slots and a worker share a store', async () => {
    const reader = await Reader.create({ STORE: `${postgres.url}?schema=roles` })
    const [serve, work] = blockWith('--max-runs 0')
    await reader.serve(serve!)
    reader.work(work!)
    expect(await reader.start('hello')).toMatch(/^run_/)
    for (const line of blockWith('holdfast gc')) await reader.run(line)
  })

  test('docs/operations.md: forget deletes a principal at a server and in a store', async () => {
    const reader = await Reader.create({ STORE: `${postgres.url}?schema=forget` })
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
    const reader = await Reader.create({ STORE: `${postgres.url}?schema=copied` })
    const server = await reader.serve('holdfast serve agents.ts')
    const run = await reader.start('hello')
    await reader.type(blockWith('holdfast copy'), server)
    expect(await reader.run(`holdfast show ${run}`)).toContain('completed')
  })

  test('docs/operations.md: a backup of SQLite is taken online and restored', async () => {
    const reader = await Reader.create()
    const server = await reader.serve('holdfast serve agents.ts')
    const run = await reader.start('hello')
    await reader.type(blockWith('holdfast backup'), server)
    expect(existsSync(join(reader.folder, 'backups/2026-11-17.db'))).toBe(true)
    expect(await reader.run(`holdfast show ${run}`)).toContain('completed')
  })

  test('docs/operations.md: pg_dump and pg_restore keep the runs of PostgreSQL', async () => {
    const reader = await Reader.create({ STORE: postgres.url })
    const server = await reader.serve('holdfast serve agents.ts --store "$STORE"')
    const run = await reader.start('hello')
    const [dump, restore] = blockWith('pg_dump')
    await reader.run(dump!)
    await reader.type(['kill "$SERVER"', restore!], server)
    await reader.serve('holdfast serve agents.ts --store "$STORE"')
    expect(await reader.run(`holdfast show ${run}`)).toContain('completed')
  })

  test('docs/operations.md: a node is replaced after a migration, and tells its health', async () => {
    const reader = await Reader.create({ STORE: `${postgres.url}?schema=update` })
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
