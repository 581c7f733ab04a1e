/** An application server with its child processes; all of them are killed together. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

const OUTPUT_CHARS_MAX = 4000

export class AppServer {
  output = ''
  readonly #child: ChildProcess

  /** `program`: what Node runs, and its arguments. */
  constructor(folder: string, program: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(process.execPath, program, {
      cwd: folder,
      detached: true,
      env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream
        .setEncoding('utf8')
        .on('data', (text: string) => (this.output = (this.output + text).slice(-OUTPUT_CHARS_MAX)))
  }

  async kill(): Promise<void> {
    const gone = once(this.#child, 'close')
    process.kill(-this.#child.pid!, 'SIGKILL')
    await gone
  }
}
