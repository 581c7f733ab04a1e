/** Builds the console on first request when running from source, and caches it until a source changes. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { HoldfastError } from '../../core/model/errors.ts'

const execute = promisify(execFile)

/** Source folders of the page. */
const SOURCES = ['console', 'src/client', 'src/core/structure', 'src/react', 'src/sse']
const BUILD_MS_MAX = 120_000
/** How long outdated builds are kept. */
const KEPT_MS = 3_600_000

export async function buildFromSources(root: string): Promise<string> {
  const script = join(root, 'scripts', 'build-console.ts')
  if (!existsSync(script)) {
    throw new HoldfastError('unavailable', 'the console is not built: run npm run build', { retryAfterMs: 60_000 })
  }
  const cache = join(root, 'node_modules/.cache/holdfast-console')
  // One folder per change time, so that a build never replaces files in use.
  const folder = join(cache, (await lastChange(root)).toString(36))
  if (existsSync(join(folder, 'index.html'))) return folder
  try {
    // In a child process, so that the bundler does not stay in memory.
    await execute(process.execPath, [script, folder], { cwd: root, timeout: BUILD_MS_MAX })
    await forgetOld(cache)
  } catch (cause) {
    throw new HoldfastError('unavailable', 'failed to build the console; see the log of the server', { cause })
  }
  return folder
}

async function lastChange(root: string): Promise<number> {
  let newest = 0
  for (const source of SOURCES) {
    const entries = await readdir(join(root, source), { recursive: true, withFileTypes: true })
    for (const entry of entries) newest = Math.max(newest, await changedAt(join(entry.parentPath, entry.name)))
  }
  return Math.floor(newest)
}

async function changedAt(path: string): Promise<number> {
  return (await stat(path)).mtimeMs
}

async function forgetOld(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const folder = join(cache, name)
    if (Date.now() - (await changedAt(folder)) > KEPT_MS) await rm(folder, { recursive: true, force: true })
  }
}
