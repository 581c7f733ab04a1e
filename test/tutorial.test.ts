/** docs/tutorial.md, typed into terminals block by block: every command succeeds and every program runs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from './support/free-port.ts'
import { startPostgres } from './support/postgres.ts'
import { temporaryFolder } from './support/temporary.ts'
import { until } from './support/until.ts'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/tutorial.md'), 'utf8')
const DOCUMENTED_STORE = 'postgres://user:password@localhost:5432/app'
const BLOCK_MS = 90_000
const OUTPUT_CHARS_MAX = 256 * 1024

const postgres = await startPostgres()

/** A shell that a reader types into. Its commands share variables, and are ended with it. */
class Terminal {
  readonly #shell: ChildProcess
  readonly #exited: Promise<void>
  #blocks = 0
  output = ''

  constructor(cwd: string, env: NodeJS.ProcessEnv) {
    this.#shell = spawn('bash', ['-s'], { cwd, env, detached: true, stdio: 'pipe' })
    for (const stream of [this.#shell.stdout!, this.#shell.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output = (this.output + text).slice(-OUTPUT_CHARS_MAX)
      })
    this.#exited = new Promise((resolve) => this.#shell.once('close', () => resolve()))
    this.#shell.stdin!.on('error', () => {}) // a shell that was killed reads nothing more
    onTestFinished(() => this.#end('SIGKILL'))
  }

  type(commands: string): void {
    this.#shell.stdin!.write(`${commands}\n`)
  }

  /** Resolves with what the commands printed when all of them have succeeded. */
  async run(commands: string): Promise<string> {
    const mark = `block ${++this.#blocks} ended with`
    const before = this.output.length
    this.type(`( set -e; trap 'declare -p RUN HOLDFAST_KEY > .variables 2>/dev/null || true' EXIT\n${commands}\n)`)
    this.type(`code=$?; eval "$(sed 's/^declare -*x*-* /export /' .variables)"; echo "${mark} $code"`)
    const code = await until(`"${commands}" ends`, () => new RegExp(`${mark} (\\d+)`).exec(this.output)?.[1], {
      withinMs: BLOCK_MS,
    })
    const printed = this.output.slice(before)
    expect(code, printed).toBe('0')
    return printed
  }

  /** Ctrl-C for what runs in it, and the terminal is closed. */
  close(): Promise<void> {
    return this.#end('SIGINT')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    try {
      process.kill(-this.#shell.pid!, signal)
    } catch {
      // Everything in it has exited.
    }
    this.#shell.stdin!.end()
    return this.#exited
  }
}

/** A project folder in which `npm install` has nothing to do, and `npx holdfast` is the command of this repository. */
function projectFolder(): { folder: string; path: string } {
  const folder = temporaryFolder()
  const bin = join(folder, '.bin')
  for (const path of [bin, join(folder, 'node_modules')]) mkdirSync(path)
  for (const name of ['ai', 'zod', 'pg'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  symlinkSync(root, join(folder, 'node_modules/holdfast'))
  writeFileSync(
    join(bin, 'npm'),
    `#!/bin/sh\n[ "$1" = install ] && { shift; for name; do [ -e "node_modules/$name" ] || exit 1; done; exit 0; }\nPATH=\${PATH#*:} exec npm "$@"\n`,
  )
  writeFileSync(
    join(bin, 'npx'),
    `#!/bin/sh\nshift\nexec ${process.execPath} --no-warnings ${join(root, 'src/cli/main.ts')} "$@"\n`,
  )
  for (const name of ['npm', 'npx']) chmodSync(join(bin, name), 0o755)
  return { folder, path: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter) }
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok
  } catch {
    return false
  }
}

interface Block {
  readonly language: string
  readonly where: string
  readonly code: string
}

function blocks(): Block[] {
  return [...page.matchAll(/^```(\w+)\n(?:#|\/\/) (.*)\n([^]*?)^```/gm)].map(([, language, where, code]) => ({
    language: language!,
    where: where!,
    code: code!,
  }))
}

test('every block of docs/tutorial.md names the file or terminal it belongs to', () => {
  expect(blocks()).toHaveLength(page.match(/^```\w+$/gm)!.length)
  for (const { language, where } of blocks())
    expect(where).toMatch(language === 'sh' ? /^terminal [123](, until Ctrl-C)?$/ : /^\w+\.ts$/)
})

test('the commands and programs of docs/tutorial.md work in their order', { timeout: 600_000 }, async () => {
  const { folder, path } = projectFolder()
  const ports: Record<string, number> = { '7777': await freePort(), '7778': await freePort() }
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'))
  const env = {
    ...Object.fromEntries(inherited),
    PATH: path,
    NODE_OPTIONS: '--conditions=holdfast-source --no-warnings',
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/holdfast-test-cli'),
    HOLDFAST_PORT: String(ports['7777']),
  }
  const adapted = (text: string): string =>
    text.replaceAll(DOCUMENTED_STORE, postgres.url).replaceAll(/\b777[78]\b/g, (port) => String(ports[port]))

  const reader = new Terminal(folder, env)
  const servers = new Map<string, Terminal>()
  const printed: string[] = []
  for (const { language, where, code } of blocks()) {
    if (language === 'ts') {
      writeFileSync(join(folder, where), adapted(code))
    } else if (where.includes('until Ctrl-C')) {
      printed.push(
        await reader.run(adapted(code.replace('curl -N', 'curl -sN --max-time 2')).trim() + ' || [ $? = 28 ]'),
      )
    } else if (where === 'terminal 2') {
      const pid = /It is process (\d+)/.exec(servers.get('terminal 1')?.output ?? '')?.[1] ?? 'PID'
      printed.push(await reader.run(adapted(code.replace('kill -9 PID', `kill -9 ${pid}`))))
    } else {
      await servers.get(where)?.close()
      const terminal = new Terminal(folder, env)
      servers.set(where, terminal)
      terminal.type(adapted(code))
      const port = ports[where === 'terminal 1' ? '7777' : '7778']!
      await until(`${where} serves`, () => isHealthy(port), { withinMs: BLOCK_MS }).catch((cause: unknown) => {
        throw new Error(`${where} did not serve:\n${terminal.output}`, { cause })
      })
    }
  }

  const said = printed.join('\n')
  expect(said.match(/event: text\.delta/g)!.length).toBeGreaterThan(2)
  const countdowns = said.match(/^(?:\d+ )+Lift-off!$/gm)!.map((line) => line.split(' '))
  expect(countdowns).toHaveLength(2)
  for (const numbers of countdowns) {
    const from = Number(numbers[0])
    expect(from).toBeGreaterThanOrEqual(50)
    expect(numbers).toEqual([...Array.from({ length: from }, (_, index) => String(from - index)), 'Lift-off!'])
  }
  expect(said.match(/I have paid 25\./g)!.length).toBeGreaterThanOrEqual(2)
  expect(said).toContain('401\n200\n')
  expect(said).toContain('verified')
  expect(said).toContain('No problems found.')
  for (const terminal of servers.values()) await terminal.close()
})
