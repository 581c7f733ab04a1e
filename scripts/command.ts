/** Runs a command of the tool chain and keeps what it printed, so that only a failure is shown. */
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

export const root = join(import.meta.dirname, '..')

export interface CommandOptions {
  readonly cwd?: string
  readonly timeoutMs?: number
}

/** A check that did not pass, as opposed to a defect of the script. */
export class Failure extends Error {
  override readonly name = 'Failure'
}

/** What the command wrote to its standard output. Throws with everything it printed when it does not exit with 0. */
export function command(line: readonly [string, ...string[]], options: CommandOptions = {}): string {
  const [program, ...parameters] = line
  const { error, status, signal, stdout, stderr } = spawnSync(program, parameters, {
    cwd: options.cwd ?? root,
    timeout: options.timeoutMs ?? COMMAND_MS_MAX,
    maxBuffer: OUTPUT_BYTES_MAX,
    encoding: 'utf8',
    // A script started without npm finds the same tools as one started with it.
    env: { ...process.env, PATH: [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter) },
  })
  if (status === 0) return stdout
  const end = error?.message ?? (signal === null ? `exited with ${status}` : `was ended by ${signal}`)
  throw new Failure(`${stdout ?? ''}${stderr ?? ''}\n${line.join(' ')}: ${end}`.trim())
}

/** Installs from a registry are the slowest thing that is run. */
const COMMAND_MS_MAX = 300_000
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

export interface Step {
  readonly name: string
  readonly run: () => string | void
}

/** Runs steps in order, each with its time, and ends the process at the first that fails. */
export function runSteps(title: string, steps: readonly Step[]): void {
  const width = Math.max(...steps.map((step) => step.name.length))
  for (const { name, run } of steps) {
    const start = performance.now()
    const seconds = (): string => `${((performance.now() - start) / 1000).toFixed(1)} s`
    try {
      const note = run()
      console.log(`✓ ${name.padEnd(width)}  ${seconds()}${note === undefined ? '' : `  ${note}`}`)
    } catch (error) {
      console.error(error instanceof Failure ? error.message : error)
      console.error(`✗ ${title} failed at ${name}, after ${seconds()}`)
      process.exit(1)
    }
  }
}
