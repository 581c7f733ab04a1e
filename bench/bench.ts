/** What a scenario works with: servers, the load client, and how much of everything. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './built.ts'
import type { Figure } from './figures.ts'
import { ClientProcess, Processes, ServerProcess } from './processes.ts'

export interface Scenario {
  readonly name: string
  readonly about: string
  run(bench: Bench): Promise<readonly Figure[]>
}

/** `A` and `B` are the plain baselines. `model` is Holdfast with an agent on a model; `served` and `drained` are the AI SDK by itself. */
export type ServerKind = 'A' | 'B' | 'holdfast' | 'served' | 'drained' | 'model'

export interface BenchOptions {
  /** Less of everything: for a first look, not for a verdict. */
  readonly quick: boolean
  /** Where CPU profiles of Holdfast are written. */
  readonly profile: string | undefined
}

export class Bench {
  readonly quick: boolean
  /** Rounds of interleaved measurements; medians are reported. */
  readonly rounds: number
  /** Like the root of the repository, but compiled. */
  readonly built: string
  readonly processes: Processes
  readonly #options: BenchOptions
  readonly #directory: string = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  #client: ClientProcess | undefined

  constructor(options: BenchOptions) {
    this.#options = options
    this.quick = options.quick
    this.rounds = options.quick ? 1 : 5
    this.built = this.folder()
    this.processes = new Processes(join(this.built, 'bench'))
    build(this.built)
  }

  /** A folder of its own, gone when the bench ends. */
  folder(): string {
    return mkdtempSync(join(this.#directory, 'd'))
  }

  async client(): Promise<ClientProcess> {
    if (this.#client === undefined) {
      const [channel] = await this.processes.start('client.js', [])
      this.#client = new ClientProcess(channel)
    }
    return this.#client
  }

  async server(kind: ServerKind, nodeFlags: readonly string[] = []): Promise<ServerProcess> {
    switch (kind) {
      case 'A':
        return this.#start('servers/plain.js', 'each', nodeFlags)
      case 'B':
        return this.#start('servers/plain.js', 'joined', nodeFlags)
      case 'served':
      case 'drained':
        return this.#start('servers/sdk.js', kind, nodeFlags)
      case 'holdfast':
        return this.#start('servers/holdfast.js', this.folder(), [...nodeFlags, ...this.profiling])
      case 'model':
        return this.#start('servers/model-agent.js', this.folder(), [...nodeFlags, ...this.profiling])
    }
  }

  /** Flags for processes that run Holdfast's code. */
  get profiling(): readonly string[] {
    const { profile } = this.#options
    return profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  }

  note(line: string): void {
    console.log(`  ${line}`)
  }

  close(): void {
    this.processes.endAll()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #start(file: string, parameter: string, nodeFlags: readonly string[]): Promise<ServerProcess> {
    const [channel, port] = await this.processes.start<number>(file, [parameter], nodeFlags)
    return new ServerProcess(channel, port)
  }
}
