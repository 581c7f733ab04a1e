/** A reader of the docs who types shell blocks in a project of their own. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { freePort } from './free-port.ts'
import { BLOCK_MS, isHealthy, projectFolder, readerEnvironment, Terminal } from './doc-terminal.ts'
import { until } from './until.ts'

const AGENTS = `import { agent } from 'holdfast'
export const echo = agent({ id: 'echo', async *run(input) { yield String(input) } })
`

/** A reader with a project and an agent; `serve` and `worker` lines keep running, all others must succeed. */
export class ProjectReader {
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

  static async create(variables: Record<string, string> = {}): Promise<ProjectReader> {
    return new ProjectReader(await freePort(), variables)
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

  /** The same for any address and scheme: resolves when the server prints that it listens. */
  async listen(command: string): Promise<void> {
    const terminal = new Terminal(this.folder, this.#env)
    terminal.type(command)
    await until(`${command} listens`, () => /It is process \d+/.test(terminal.output), { withinMs: BLOCK_MS }).catch(
      (cause: unknown) => {
        throw new Error(`${command} did not listen:\n${terminal.output}`, { cause })
      },
    )
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
      // It listens no more before it has let go of its store.
      if (line.startsWith('kill '))
        await until('the server has ended', () => !isAlive(Number(serverPid)), { withinMs: BLOCK_MS })
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

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
