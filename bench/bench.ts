/** Context of a scenario: servers, the load client, and settings. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './build.ts'
import type { Figure } from './figures.ts'
import { ClientProcess, Processes, ServerProcess } from './processes.ts'
import type { StoreCommand } from './store-load.ts'

export interface Scenario {
  readonly name: string
  readonly about: string
  run(bench: Bench): Promise<readonly Figure[]>
}

/**
 * `A` and `B` are the plain baselines. `node` and `hono` are Holdfast, mounted there. `model` is Holdfast with a model agent; `served`
 * and `drained` are the AI SDK alone. `chat` is the upstream of `proxy`, which is plain, and of `gateway`.
 */
export type ServerKind =
  | 'A'
  | 'B'
  | 'holdfast'
  | 'served'
  | 'drained'
  | 'model'
  | 'node'
  | 'hono'
  | 'chat'
  | 'proxy'
  | 'gateway'

export interface BenchOptions {
  /** Smaller loads: for a first look, not for conclusions. */
  readonly quick: boolean
  /** Folder for CPU profiles of Holdfast. */
  readonly profile: string | undefined
  /** Write the inputs of the capacity model to measured.json. */
  readonly save: boolean
  /** Install LiteLLM's proxy and measure it too. */
  readonly litellm: boolean
}

export class Bench {
  readonly quick: boolean
  readonly save: boolean
  readonly litellm: boolean
  /** Rounds of interleaved measurements; medians are reported. */
  readonly rounds: number
  /** Compiled copy of the repository root. */
  readonly built: string
  readonly processes: Processes
  readonly #options: BenchOptions
  readonly #directory: string = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  readonly #kept: { stop(): Promise<void> }[] = []
  #client: ClientProcess | undefined

  constructor(options: BenchOptions) {
    this.#options = options
    this.quick = options.quick
    this.save = options.save
    this.litellm = options.litellm
    this.rounds = options.quick ? 1 : 5
    this.built = this.folder()
    this.processes = new Processes(join(this.built, 'bench'))
    build(this.built)
  }

  /** A temporary folder, removed when the bench ends. */
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

  /** `parameters`: port of the upstream for `proxy`, its URL for `gateway`. */
  async server(
    kind: ServerKind,
    nodeFlags: readonly string[] = [],
    parameters: readonly string[] = [],
  ): Promise<ServerProcess> {
    switch (kind) {
      case 'A':
        return this.#start('servers/plain.js', 'each', nodeFlags)
      case 'B':
        return this.#start('servers/plain.js', 'joined', nodeFlags)
      case 'served':
      case 'drained':
        return this.#start('servers/sdk.js', kind, nodeFlags)
      case 'holdfast':
        return this.node(`sqlite:${join(this.folder(), 'holdfast.db')}`, nodeFlags)
      case 'node':
      case 'hono':
        return this.#start(
          'servers/mounted.js',
          [kind, `sqlite:${join(this.folder(), 'holdfast.db')}`],
          [...nodeFlags, ...this.profiling],
        )
      case 'chat':
        return this.#start('servers/chat-upstream.js', [], nodeFlags)
      case 'proxy':
        return this.#start('servers/reverse-proxy.js', parameters, nodeFlags)
      case 'gateway':
        return this.#start(
          'servers/gateway.js',
          [`sqlite:${join(this.folder(), 'holdfast.db')}`, ...parameters],
          [...nodeFlags, ...this.profiling],
        )
      case 'model':
        return this.#start('servers/model-agent.js', this.folder(), [...nodeFlags, ...this.profiling])
    }
  }

  /** Starts Holdfast on a store. */
  node(address: string, nodeFlags: readonly string[] = []): Promise<ServerProcess> {
    return this.#start('servers/holdfast.js', address, [...nodeFlags, ...this.profiling])
  }

  /** Sends one command to a store, or its bare medium, in a separate process. */
  async storeAlone<Answer>(command: StoreCommand, nodeFlags: readonly string[] = []): Promise<Answer> {
    const [channel] = await this.processes.start('store-load.js', [], nodeFlags)
    const answer = await channel.ask<Answer>(command)
    channel.end()
    await channel.exited()
    return answer
  }

  /** Registers something to stop when the bench ends. */
  keep<Kept extends { stop(): Promise<void> }>(kept: Kept): Kept {
    this.#kept.push(kept)
    return kept
  }

  /** Node flags for Holdfast processes. */
  get profiling(): readonly string[] {
    const { profile } = this.#options
    return profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  }

  note(line: string): void {
    console.log(`  ${line}`)
  }

  async close(): Promise<void> {
    this.processes.endAll()
    for (const kept of this.#kept.toReversed()) await kept.stop()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #start(
    file: string,
    parameters: string | readonly string[],
    nodeFlags: readonly string[],
  ): Promise<ServerProcess> {
    const [channel, port] = await this.processes.start<number>(file, [parameters].flat(), nodeFlags)
    return new ServerProcess(channel, port)
  }
}
