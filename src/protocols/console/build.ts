/** From sources there is no built page: it is made when somebody first asks for it, and kept until a source of it changes. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { HoldfastError } from '../../core/errors.ts'

const execute = promisify(execFile)

/** What the page is made of. */
const SOURCES = ['console', 'src/client', 'src/react', 'src/sse']
const BUILD_MS_MAX = 120_000

export async function buildFromSources(root: string): Promise<string> {
  const script = join(root, 'scripts', 'build-console.ts')
  if (!existsSync(script)) {
    throw new HoldfastError('unavailable', 'the console is not built: run npm run build', { retryAfterMs: 60_000 })
  }
  const folder = join(root, 'node_modules/.cache/holdfast-console')
  if (await isFresh(root, folder)) return folder
  try {
    // In a process of its own: the bundler would stay in the memory of this one.
    await execute(process.execPath, [script, folder], { cwd: root, timeout: BUILD_MS_MAX })
  } catch (cause) {
    throw new HoldfastError('unavailable', 'the console cannot be built; the log of the server says why', { cause })
  }
  return folder
}

async function isFresh(root: string, folder: string): Promise<boolean> {
  const built = await changedAt(join(folder, 'index.html'))
  if (built === 0) return false
  for (const source of SOURCES) {
    const entries = await readdir(join(root, source), { recursive: true, withFileTypes: true })
    for (const entry of entries) {
      if (entry.isFile() && (await changedAt(join(entry.parentPath, entry.name))) > built) return false
    }
  }
  return true
}

async function changedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch {
    return 0
  }
}
