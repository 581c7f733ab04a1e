/** Python programs in virtual environments, installed when a test first needs them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureAptPackage } from './apt.ts'

/** For several packages, one environment after the other, on a busy machine. */
export const PYTHON_INSTALL_MS = 15 * 60_000
const START_MS = 90_000
const OUTPUT_CHARS_MAX = 4000

/** The interpreter of a virtual environment with these requirements; created if missing, in minutes at most. */
export async function ensurePython(requirements: string): Promise<string> {
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12)
  const cache = join(import.meta.dirname, '../../node_modules/.cache/holdfast-python')
  const folder = join(cache, digest)
  const python = join(folder, 'bin/python')
  if (existsSync(join(folder, 'ready'))) return python
  mkdirSync(cache, { recursive: true })
  if (!(await hasVenv())) await ensureAptPackage('python3-venv', '/var/lib/dpkg/info/python3-venv.list')
  // Serialized, because test files run in parallel.
  const lock = join(cache, 'lock')
  const script = ['-w', String(PYTHON_INSTALL_MS / 1000), lock, 'sh', '-ec', INSTALL, 'install', folder, requirements]
  const { code, output } = await run('flock', script)
  if (code === 0 && existsSync(join(folder, 'ready'))) return python
  throw new Error(
    `the Python packages of ${requirements} could not be installed (${code ?? 'out of time'}):\n${output}`,
  )
}

/** Debian has it in a separate package, which installs Python if needed; its files are elsewhere in each version. */
async function hasVenv(): Promise<boolean> {
  const found = await run('python3', ['-c', 'import ensurepip, venv']).catch(() => undefined)
  return found?.code === 0
}

const INSTALL = `
if [ -e "$1/ready" ]; then exit 0; fi
rm -rf "$1"
python3 -m venv "$1"
"$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
touch "$1/ready"
`

export interface PythonServer {
  readonly url: string
  /** Kills it and waits for its exit. */
  kill(): Promise<void>
}

/** Starts a server that prints `listens at <url>`. */
export async function startPythonServer(python: string, args: readonly string[]): Promise<PythonServer> {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' }
  const child = spawn(python, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  const output = outputOf(child)
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const kill = (): Promise<void> => {
    child.kill('SIGKILL')
    return gone
  }
  const url = await new Promise<string>((resolve, reject) => {
    const fail = (): void => reject(new Error(`${args[0]} did not start:\n${output.text}`))
    const timer = setTimeout(fail, START_MS)
    child.once('close', fail)
    child.stdout.on('data', () => {
      const [, found] = /listens at (\S+)\n/.exec(output.text) ?? []
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    })
  }).catch(async (cause: unknown) => {
    await kill()
    throw cause
  })
  return { url, kill }
}

function outputOf(child: ChildProcess): { text: string } {
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output.text = (output.text + text).slice(-OUTPUT_CHARS_MAX)
    })
  }
  return output
}

async function run(program: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: PYTHON_INSTALL_MS })
  const output = outputOf(child)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output: output.text }))
  })
}
