/** Finds an unsupported older Node on this machine, to test the error message it gets. */
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
