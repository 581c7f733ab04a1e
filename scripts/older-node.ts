/** Finds a Node on this machine that is older than the one we need, to see what it is told. */
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { checkNodeVersion } from '../src/cli/node-version.ts'

export function olderNode(): { readonly path: string; readonly version: string } | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    const version = spawnSync(path, ['--print', 'process.versions.node'], {
      encoding: 'utf8',
      timeout: 10_000,
    }).stdout?.trim()
    if (version && checkNodeVersion(version) !== undefined) return { path, version }
  }
  return undefined
}
