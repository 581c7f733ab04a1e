/** The environment of a reader of the docs: terminals to type into, and a project folder with `holdfast` in it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { temporaryFolder } from './temporary.ts'
import { until } from './until.ts'

const root = join(import.meta.dirname, '../..')
export const BLOCK_MS = 180_000
const OUTPUT_CHARS_MAX = 256 * 1024

/** A shell that a reader types into. Its commands share variables, and are ended with it. */
export class Terminal {
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

  /** Resolves with the output when all commands have succeeded. */
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

/** A project folder with everything installed, in which `holdfast` and `npx holdfast` are the command of this repository. */
export function projectFolder(): { folder: string; path: string } {
  const folder = temporaryFolder()
  const bin = join(folder, '.bin')
  for (const path of [bin, join(folder, 'node_modules/@nats-io')]) mkdirSync(path, { recursive: true })
  for (const name of ['ai', 'zod', 'pg', '@nats-io/transport-node'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  symlinkSync(root, join(folder, 'node_modules/holdfast'))
  writeFileSync(
    join(bin, 'npm'),
    `#!/bin/sh\n[ "$1" = install ] && { shift; for name; do [ -e "node_modules/$name" ] || exit 1; done; exit 0; }\nPATH=\${PATH#*:} exec npm "$@"\n`,
  )
  const holdfast = `exec ${process.execPath} --no-warnings ${join(root, 'src/cli/main.ts')} "$@"\n`
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\nshift\n${holdfast}`)
  writeFileSync(join(bin, 'holdfast'), `#!/bin/sh\n${holdfast}`)
  for (const name of ['npm', 'npx', 'holdfast']) chmodSync(join(bin, name), 0o755)
  return { folder, path: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter) }
}

export async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok
  } catch {
    return false
  }
}

/** The environment of a reader's terminal: no setting of this process, and `holdfast` from the project. */
export function readerEnvironment(path: string, port: number): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'))
  return {
    ...Object.fromEntries(inherited),
    PATH: path,
    NODE_OPTIONS: '--conditions=holdfast-source --no-warnings',
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/holdfast-test-cli'),
    HOLDFAST_PORT: String(port),
  }
}
