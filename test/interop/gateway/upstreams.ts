/** The real servers: how each is started, and how its own clients start and resume a stream. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ensurePython } from '../../support/python.ts'

const READY_MS = 120_000
export const HERMES_KEY = 'interop-key-of-hermes'

/** A third-party server process that can be killed and restarted at its address. */
export class Upstream {
  readonly name: string
  readonly protocol: 'agentos' | 'openai' | 'a2a'
  readonly url: string
  /** Its component. */
  readonly id: string
  readonly #start: () => Promise<ChildProcess>
  readonly #readyPath: string
  readonly headers: Readonly<Record<string, string>>
  #child: ChildProcess | undefined

  constructor(
    about: Pick<Upstream, 'name' | 'protocol' | 'url' | 'id'> & {
      readonly readyPath: string
      readonly headers?: Readonly<Record<string, string>>
    },
    start: () => Promise<ChildProcess>,
  ) {
    this.name = about.name
    this.protocol = about.protocol
    this.url = about.url
    this.id = about.id
    this.headers = about.headers ?? {}
    this.#readyPath = about.readyPath
    this.#start = start
  }

  async start(): Promise<void> {
    this.#child = await this.#start()
    for (const since = performance.now(); performance.now() - since < READY_MS; await wait(100)) {
      const response = await fetch(this.url + this.#readyPath, { headers: this.headers }).catch(() => undefined)
      if (response?.ok === true) return
      if (this.#child.exitCode !== null) break
    }
    throw new Error(`${this.name} did not start at ${this.url}`)
  }

  /** With `kill -9`. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('close', resolve))
    process.kill(-child.pid, 'SIGKILL')
    await gone
  }
}

export interface Ports {
  readonly agno: number
  readonly bare: number
  readonly agno2: number
  readonly bare2: number
  readonly fasta2a: number
  readonly hermes: number
}

/** Each is installed when it first starts. */
export function upstreamsOn(ports: Ports, model: string, folder: string): Upstream[] {
  const agentos = (name: string, environment: string, port: number, db: string): Upstream =>
    new Upstream({ name, protocol: 'agentos', url: at(port), id: 'writer', readyPath: '/health' }, async () =>
      run(await pythonOf(environment), [script('serve_agno.py'), String(port), model, db]),
    )
  return [
    agentos('agno', 'agno', ports.agno, join(folder, 'agno.db')),
    agentos('agno without a db', 'agno', ports.bare, '-'),
    agentos('agno 2', 'agno-2', ports.agno2, join(folder, 'agno-2.db')),
    agentos('agno 2 without a db', 'agno-2', ports.bare2, '-'),
    new Upstream(
      {
        name: 'FastA2A',
        protocol: 'a2a',
        url: at(ports.fasta2a),
        id: 'kelp',
        readyPath: '/.well-known/agent-card.json',
      },
      async () => run(await pythonOf('fasta2a'), [script('serve_fasta2a.py'), String(ports.fasta2a), model]),
    ),
    new Upstream(
      {
        name: 'hermes-agent',
        protocol: 'openai',
        url: `${at(ports.hermes)}/v1`,
        id: 'hermes-agent',
        readyPath: '/models',
        headers: { authorization: `Bearer ${HERMES_KEY}` },
      },
      async () =>
        startHermes(await pythonOf('hermes'), ports.hermes, model, join(folder, `hermes-${crypto.randomUUID()}`)),
    ),
  ]
}

/** The interpreter of an environment, which is installed if it is missing. */
export function pythonOf(name: string): Promise<string> {
  return ensurePython(join(import.meta.dirname, `requirements-${name}.txt`))
}

function script(name: string): string {
  return join(import.meta.dirname, name)
}

function at(port: number): string {
  return `http://127.0.0.1:${port}`
}

/** Its gateway program is beside its interpreter. Each start gets a new home, because a killed process leaves its process id there. */
function startHermes(python: string, port: number, model: string, home: string): ChildProcess {
  mkdirSync(home, { recursive: true })
  const settings = [
    'default: scripted',
    'provider: custom',
    `base_url: ${model}`,
    'api_key: none',
    'context_length: 131072',
  ]
  writeFileSync(join(home, 'config.yaml'), `model:\n${settings.map((line) => `  ${line}\n`).join('')}`)
  return run(python, [join(python, '../hermes'), 'gateway', 'run'], {
    HERMES_HOME: home,
    API_SERVER_ENABLED: 'true',
    API_SERVER_KEY: HERMES_KEY,
    API_SERVER_PORT: String(port),
  })
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const own = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env }
  return spawn(program, args, { stdio: 'ignore', env: own, detached: true })
}
