/** Keeps compiled code between starts. Node's default is a folder in /tmp, in which another user could have put code of their own. */
import { mkdirSync, statSync } from 'node:fs'
import * as module from 'node:module'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** Written while the process runs, too: one that is killed leaves a cache for the next one. Late, so that it delays no first request. */
const FLUSH_AFTER_MS = 3000

/** Does nothing without a folder that is safe. A cache that `NODE_COMPILE_CACHE` sets stays. */
export function keepCompiledCode(env: NodeJS.ProcessEnv = process.env): void {
  const folder = cacheFolder(env)
  if (folder === undefined || !isOwn(folder)) return
  module.enableCompileCache(folder)
  setTimeout(() => module.flushCompileCache(), FLUSH_AFTER_MS).unref()
}

/** Where this user's caches are. */
function cacheFolder({ XDG_CACHE_HOME: given, LOCALAPPDATA: local }: NodeJS.ProcessEnv): string | undefined {
  if (process.platform === 'win32') return local && join(local, 'holdfast', 'compile-cache')
  const home = homedir()
  if (!isAbsolute(home)) return undefined
  const caches = process.platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache')
  return join(given !== undefined && isAbsolute(given) ? given : caches, 'holdfast', 'compile-cache')
}

/** Makes the folder if it is missing. Only this user may write to it; where there is no home, there is no cache. */
function isOwn(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { uid, mode } = statSync(folder)
    return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
  } catch {
    return false
  }
}
