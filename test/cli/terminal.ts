/** A user at a terminal: a real pseudo-terminal in tmux, its input and its screen. */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { ensureAptPackage } from '../support/apt.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { root } from './command-line.ts'

const execute = promisify(execFile)
const TMUX = '/usr/bin/tmux'

/** Time for a busy machine to start the program. */
const SHOWN_MS = 180_000

export function ensureTmux(): Promise<void> {
  return ensureAptPackage('tmux', TMUX)
}

export interface TerminalOptions {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The shell and its flags. */
  readonly shell?: readonly string[]
}

export class Terminal {
  readonly #socket: string

  private constructor(socket: string) {
    this.#socket = socket
  }

  /** Has `holdfast` on its PATH and `$` as its prompt. */
  static async open({
    columns = 90,
    rows = 24,
    env = {},
    cwd,
    shell = ['bash', '--norc', '--noprofile'],
  }: TerminalOptions = {}): Promise<Terminal> {
    const folder = temporaryFolder()
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    const program = `exec '${process.execPath}' '${join(root, 'src/cli/main.ts')}' "$@"`
    writeFileSync(join(bin, 'holdfast'), `#!/bin/sh\n${program}\n`, { mode: 0o755 })
    const terminal = new Terminal(join(folder, 'tmux'))
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(?:HOLDFAST_|NO_COLOR|FORCE_COLOR|TMUX)/.test(name),
    )
    const variables = {
      ...Object.fromEntries(inherited),
      PATH: `${bin}:${process.env['PATH']}`,
      PS1: '$ ',
      LC_ALL: 'C.UTF-8',
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/holdfast-test-cli'),
      ...env,
    }
    const size = ['-x', String(columns), '-y', String(rows)]
    const place = ['-c', cwd ?? folder]
    await execute(
      TMUX,
      ['-S', terminal.#socket, '-u', '-f', '/dev/null', 'new-session', '-d', ...size, ...place, ...shell],
      { env: variables },
    )
    onTestFinished(async () => {
      await terminal.#tmux('kill-server').catch(() => {})
    })
    await terminal.shows(/^\$ ?$/m)
    return terminal
  }

  /** Types a line and Enter. */
  async type(line: string): Promise<void> {
    await this.#tmux('send-keys', '-l', line)
    await this.press('Enter')
  }

  /** Keys as tmux names them: `C-c`, `Tab`. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux('send-keys', ...keys)
  }

  /** The screen, without the empty rows at its end; with `colours` the sequences for them, too. */
  async screen(colours = false): Promise<string> {
    const { stdout } = await this.#tmux('capture-pane', '-p', ...(colours ? ['-e'] : []))
    return stdout.trimEnd()
  }

  /** The screen, once it shows something. */
  async shows(what: RegExp): Promise<string> {
    let last = ''
    try {
      return await until(
        `the screen shows ${what}`,
        async () => {
          last = await this.screen()
          return what.test(last) && last
        },
        { withinMs: SHOWN_MS, everyMs: 50 },
      )
    } catch (cause) {
      throw new Error(`the screen does not show ${what}:\n${last}`, { cause })
    }
  }

  #tmux(...args: string[]): Promise<{ stdout: string }> {
    return execute(TMUX, ['-S', this.#socket, ...args])
  }
}

/** Screens are compared without ids and times. */
export function settled(screen: string): string {
  return screen
    .replace(/run_[0-9a-z]{26}/g, 'run_ID')
    .replace(/\b\d+(?:\.\d)?s\b/g, 'N.Ns')
    .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '⠿')
    .split('\n')
    .map((row) => row.trimEnd())
    .join('\n')
}
