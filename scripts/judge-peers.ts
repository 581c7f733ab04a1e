/** Installation and start of each peer for the judge, which fills in `{port}`, `{model}` and `{folder}`. */
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ensureAptPackage } from '../test/support/apt.ts'
import { freePort } from '../test/support/free-port.ts'
import { ensurePython } from '../test/support/python.ts'
import { command, Failure, root } from './command.ts'

export interface PeerStart {
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Stops other processes that were started for it. */
  readonly close?: () => void
  /** Other processes that do part of its work. */
  readonly beside?: readonly number[]
}

export interface Peer {
  readonly name: string
  /** Name, with its configuration. */
  readonly title: string
  /** Installs its packages. */
  start(): Promise<PeerStart>
  /** Versions of the packages under test. */
  versions(): string
}

const programs = join(root, 'judge/peers/programs')
const gateway = join(root, 'test/interop/gateway')
const cache = join(root, 'node_modules/.cache/holdfast-judge')
const REDIS = '/usr/bin/redis-server'
const MODEL = { PORT: '{port}', MODEL_URL: '{model}' }

/** The programs with their packages, beside each other; installed again when the list of packages changes. */
function nodePrograms(): string {
  mkdirSync(cache, { recursive: true })
  const wanted = readFileSync(join(programs, 'package.json'), 'utf8')
  const stamp = join(cache, 'installed.json')
  cpSync(programs, cache, { recursive: true })
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    command(['npm', 'install', '--no-audit', '--no-fund', '--no-package-lock'], { cwd: cache, timeoutMs: 600_000 })
    writeFileSync(stamp, wanted)
  }
  return cache
}

function nodePeer(
  name: string,
  title: string,
  packages: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Peer {
  return {
    name,
    title,
    start: () => Promise.resolve({ command: ['node', `${name}.mjs`], env: { ...MODEL, ...env }, cwd: nodePrograms() }),
    versions: () => packages.map((wanted) => `${wanted} ${versionIn(join(cache, 'node_modules', wanted))}`).join(', '),
  }
}

function versionIn(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly version: string }
  return version
}

function pythonPeer(
  name: string,
  title: string,
  requirements: string,
  packages: readonly string[],
  start: (python: string) => PeerStart,
): Peer {
  return {
    name,
    title,
    start: async () => start(await ensurePython(requirements)),
    versions: () => packages.map((wanted) => `${wanted} ${pinned(requirements, wanted)}`).join(', '),
  }
}

function pinned(requirements: string, name: string): string {
  const lines = readFileSync(requirements, 'utf8').split('\n')
  return lines.find((line) => line.replace(/\[.*?\]/, '').startsWith(`${name}==`))?.split('==')[1] ?? 'newest'
}

function holdfast(name: string, title: string): Peer {
  const flags = ['--port', '{port}', '--store', 'sqlite:{folder}/runs.db']
  const program = [join(root, 'src/cli/main.mjs'), 'serve', join(root, 'judge/peers/holdfast-agent.mjs')]
  const line = ['node', '--conditions=holdfast-source', ...program, ...flags]
  return {
    name,
    title: `Holdfast (${title})`,
    start: () => Promise.resolve({ command: line, env: { MODEL_URL: '{model}' }, cwd: root }),
    versions: () => `holdfast ${versionIn(root)}`,
  }
}

const agno = pythonPeer(
  'agno',
  'agno AgentOS (SQLite, background runs)',
  join(gateway, 'requirements-agno.txt'),
  ['agno'],
  (python) => ({
    command: [python, join(gateway, 'serve_agno.py'), '{port}', '{model}', '{folder}/agno.db'],
  }),
)

const fasta2a = pythonPeer(
  'fasta2a',
  'FastA2A (pydantic-ai, in memory)',
  join(gateway, 'requirements-fasta2a.txt'),
  ['fasta2a', 'pydantic-ai-slim'],
  (python) => ({ command: [python, join(gateway, 'serve_fasta2a.py'), '{port}', '{model}'] }),
)

const hermes = pythonPeer(
  'hermes',
  'hermes-agent (API server)',
  join(gateway, 'requirements-hermes.txt'),
  ['hermes-agent'],
  (python) => ({
    command: [python, join(programs, 'hermes.py'), '{folder}', '{model}'],
    env: { API_SERVER_ENABLED: 'true', API_SERVER_KEY: 'judge-key-of-hermes', API_SERVER_PORT: '{port}' },
  }),
)

const langgraph = pythonPeer(
  'langgraph',
  'LangGraph server (dev, in memory)',
  join(programs, 'requirements-langgraph.txt'),
  ['langgraph-api', 'langgraph-cli'],
  (python) => {
    const cwd = join(cache, 'langgraph')
    rmSync(cwd, { recursive: true, force: true }) // removes the runs of earlier campaigns
    cpSync(join(programs, 'langgraph'), cwd, { recursive: true })
    const langgraphCli = join(python, '../langgraph')
    return {
      command: [langgraphCli, 'dev', '--no-browser', '--no-reload', '--port', '{port}'],
      env: { MODEL_URL: '{model}' },
      cwd,
    }
  },
)

const resumableStream = besideRedis(
  nodePeer('resumable-stream', 'AI SDK + resumable-stream (Redis)', ['ai', 'resumable-stream', 'redis']),
)

function besideRedis(peer: Peer, settings: Readonly<Record<string, string>> = {}): Peer {
  return {
    ...peer,
    async start() {
      const cwd = nodePrograms()
      const redis = await startRedis()
      const env = { ...MODEL, ...settings, REDIS_URL: `redis://127.0.0.1:${redis.port}` }
      return { command: ['node', `${peer.name}.mjs`], env, cwd, close: redis.close, beside: [redis.pid] }
    },
  }
}

/** Redis is not killed: it runs as long as the judge. */
async function startRedis(): Promise<{ readonly port: number; readonly pid: number; readonly close: () => void }> {
  await ensureAptPackage('redis-server', REDIS)
  const port = await freePort()
  const child = spawn(REDIS, ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' })
  if (child.pid === undefined) throw new Error(`${REDIS} cannot be started`)
  return { port, pid: child.pid, close: () => void child.kill() }
}

/** Baseline: the cost of a word without storage. */
export const plain = nodePeer('plain', 'plain node:http (keeps nothing)', [])

export const peers: readonly Peer[] = [
  holdfast('holdfast', 'native, SQLite'),
  holdfast('holdfast-agentos', 'AgentOS, SQLite'),
  holdfast('holdfast-openai', 'chat completions, SQLite'),
  holdfast('holdfast-a2a', 'A2A, SQLite'),
  holdfast('holdfast-ai-sdk', 'AI SDK UI, SQLite'),
  agno,
  fasta2a,
  hermes,
  nodePeer('a2a-js', '@a2a-js/sdk (in memory)', ['@a2a-js/sdk']),
  resumableStream,
  nodePeer('durable-streams', 'Durable Streams (Node server, files)', ['@durable-streams/server'], {
    DATA: '{folder}/data',
  }),
  langgraph,
  nodePeer('mastra', 'Mastra (Express adapter)', ['@mastra/core']),
  besideRedis(
    nodePeer('mastra-durable', 'Mastra durable agent (Redis, LibSQL)', [
      '@mastra/core',
      '@mastra/redis',
      '@mastra/libsql',
    ]),
    { DATA: '{folder}/runs.db' },
  ),
]

/** Runs a module of the judge on a peer and passes on its lines. Throws if it fails: half a verdict is none. */
export async function runOnPeer(peer: Peer, module: string, onLine: (line: unknown) => void): Promise<void> {
  const python = await ensurePython(join(root, 'judge/requirements.txt'))
  const { close, ...start } = await peer.start()
  const args = ['-m', module, '--profile', peer.name, '--command', JSON.stringify(start)]
  const child = spawn(python, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  try {
    for await (const line of createInterface({ input: child.stdout })) onLine(JSON.parse(line))
    const [code] = (await ended) as [number | null]
    if (code !== 0) throw new Failure(`${module} failed on ${peer.name}: ${code ?? 'it was killed'}`)
  } finally {
    close?.()
  }
}
