/** Runs a command of the tool chain and prints its output only on failure. */
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

export const root = join(import.meta.dirname, '..')

export interface CommandOptions {
  readonly cwd?: string
  readonly timeoutMs?: number
}

/** A failed check, as opposed to a bug in the script. */
export class Failure extends Error {
  override readonly name = 'Failure'
}

/** Returns standard output. Throws with the full output if the exit code is not 0. */
export function command(line: readonly [string, ...string[]], options: CommandOptions = {}): string {
  const [program, ...parameters] = line
  const { error, status, signal, stdout, stderr } = spawnSync(program, parameters, {
    cwd: options.cwd ?? root,
    timeout: options.timeoutMs ?? COMMAND_MS_MAX,
    maxBuffer: OUTPUT_BYTES_MAX,
    encoding: 'utf8',
    // Finds the same tools with and without npm.
    env: { ...process.env, PATH: [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter) },
  })
  if (status === 0) return stdout
  const end = error?.message ?? (signal === null ? `exited with ${status}` : `was ended by ${signal}`)
  throw new Failure(`${stdout ?? ''}${stderr ?? ''}\n${line.join(' ')}: ${end}`.trim())
}

/** Long enough for installs from a registry, the slowest step. */
const COMMAND_MS_MAX = 300_000
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

export interface Step {
  readonly name: string
  readonly run: () => string | void
}

/** Runs timed steps in order, and exits at the first failure. */
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
