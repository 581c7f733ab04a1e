/** Installs Debian packages when a test first needs them. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** For a large package over a slow connection. */
export const INSTALL_MS = 5 * 60_000
const OUTPUT_CHARS_MAX = 4000

/** Whether packages can be installed on this machine. */
export function canInstallPackages(): boolean {
  return existsSync('/usr/bin/apt-get') && process.getuid?.() === 0
}

/** Installs a Debian package unless its program exists; takes minutes at most. */
export async function ensureAptPackage(name: string, binary: string): Promise<void> {
  if (existsSync(binary)) return
  if (!canInstallPackages())
    throw new Error(`${binary} is missing; install the package ${name} (as root on Debian: apt-get install ${name})`)
  // Serialized: test files run in parallel, and apt does not wait for its own lock.
  const lock = join(tmpdir(), 'holdfast-test-apt.lock')
  const { code, output } = await run('flock', [
    '-w',
    String(INSTALL_MS / 1000),
    lock,
    'sh',
    '-ec',
    SCRIPT,
    'install',
    name,
    binary,
  ])
  if (code === 0 && existsSync(binary)) return
  throw new Error(
    `the package ${name}, which has ${binary}, could not be installed (${code ?? 'out of time'}):\n${output}`,
  )
}

const SCRIPT = `
export DEBIAN_FRONTEND=noninteractive
if [ -e "$2" ]; then exit 0; fi
apt-get update -qq
apt-get install -qq -y --no-install-recommends "$1"
`

/** The exit code, null if killed, and the end of the output. */
function run(
  program: string,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: INSTALL_MS })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-OUTPUT_CHARS_MAX)))
    }
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
