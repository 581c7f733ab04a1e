/** A real PostgreSQL server for one test file, with its own folder and port. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll } from 'vitest'
import { ensureAptPackage } from './apt.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** Debian's version; a newer installed one takes precedence. */
const DEBIAN_PACKAGE = 'postgresql-15'
const ROOT = '/usr/lib/postgresql'
const CACHE = join(import.meta.dirname, '../../node_modules/.cache')
const START_MS = 60_000
const OUTPUT_CHARS_MAX = 16_000
/** No fsync: data survives a server crash but not a machine crash, which is enough for tests. */
const FAST = ['fsync=off', 'full_page_writes=off', 'max_connections=300', 'shared_buffers=64MB', 'max_wal_size=256MB']

/** With owners and permissions, which PostgreSQL checks. */
function copyFolder(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`copying ${from} failed: ${stderr}`)
}

/** Folder of the server programs; installed if missing. Fails the test if that is impossible. */
export async function postgresPrograms(): Promise<string> {
  const [newest] = existsSync(ROOT) ? readdirSync(ROOT).toSorted((a, b) => Number(b) - Number(a)) : []
  const folder = join(ROOT, newest ?? '15', 'bin')
  await ensureAptPackage(DEBIAN_PACKAGE, join(folder, 'postgres'))
  return folder
}

/** Started before the test file, stopped and removed after it. */
export async function startPostgres(): Promise<PostgresServer> {
  const server = await PostgresServer.create()
  afterAll(() => server.remove())
  await server.start()
  return server
}

export class PostgresServer {
  readonly port: number
  readonly #programs: string
  readonly #folder: string
  readonly #identity = postgresIdentity()
  #process: ChildProcess | undefined
  #output = ''

  private constructor(programs: string, port: number) {
    this.#programs = programs
    this.port = port
    this.#folder = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'))
    const { uid, gid } = this.#identity
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid)
  }

  /** A new, empty server, not started. */
  static async create(): Promise<PostgresServer> {
    const server = new PostgresServer(await postgresPrograms(), await freePort())
    const template = join(CACHE, `holdfast-postgres-${basename(dirname(server.#programs))}`)
    if (existsSync(template)) copyFolder(template, server.#data)
    else server.#initialize(template)
    return server
  }

  /** A replica from a base backup of the primary, not started. */
  static async following(primary: PostgresServer): Promise<PostgresServer> {
    const server = new PostgresServer(primary.#programs, await freePort())
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'holdfast', '--checkpoint=fast', '--no-sync']
    server.#run('pg_basebackup', ['-D', server.#data, '-R', ...from])
    return server
  }

  get url(): string {
    return `postgres://holdfast@127.0.0.1:${this.port}/postgres`
  }

  /** Process id of the postmaster; undefined while stopped. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** The end of its log. */
  get output(): string {
    return this.#output
  }

  /** Resolves when it accepts connections. */
  async start(settings: readonly string[] = FAST): Promise<void> {
    const args = ['-D', this.#data, '-p', String(this.port), '-h', '127.0.0.1', '-k', this.#folder]
    const child = spawn(
      join(this.#programs, 'postgres'),
      [...args, ...settings.flatMap((setting) => ['-c', setting])],
      {
        ...this.#identity,
        cwd: this.#folder,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-OUTPUT_CHARS_MAX)
    })
    this.#process = child
    await until('PostgreSQL accepts connections', () => this.#answers(child), { withinMs: START_MS, everyMs: 50 })
  }

  /** SIGINT: fast shutdown. SIGQUIT: immediate shutdown, with recovery at the next start. */
  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await exited
    this.#process = undefined
  }

  async remove(): Promise<void> {
    await this.stop('SIGQUIT')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Executes a statement on a new connection. */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = new pg.Client(this.url)
    await client.connect()
    try {
      return (await client.query<Row>(text, values)).rows
    } finally {
      await client.end()
    }
  }

  /** Keeps the initial files for the next server: creating them is most of a start. */
  #initialize(template: string): void {
    const how = ['-U', 'holdfast', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync', '--wal-segsize=1']
    this.#run('initdb', ['-D', this.#data, ...how])
    const copy = `${template}.${this.port}`
    mkdirSync(CACHE, { recursive: true })
    copyFolder(this.#data, copy)
    try {
      renameSync(copy, template)
    } catch {
      rmSync(copy, { recursive: true }) // another file was faster
    }
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  #run(program: string, args: readonly string[]): void {
    const options = { ...this.#identity, cwd: this.#folder, encoding: 'utf8' } as const
    const { status, stderr } = spawnSync(join(this.#programs, program), args, options)
    if (status !== 0) throw new Error(`${program} failed: ${stderr}`)
  }

  async #answers(child: ChildProcess): Promise<boolean> {
    if (child.exitCode !== null) throw new Error(`PostgreSQL ended (${child.exitCode}):\n${this.#output}`)
    return this.query('SELECT 1').then(
      () => true,
      () => false,
    )
  }
}

/** PostgreSQL refuses to run as root. */
export function postgresIdentity(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  return { uid: idOfPostgres('-u'), gid: idOfPostgres('-g') }
}

function idOfPostgres(flag: '-u' | '-g'): number {
  return Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
}
