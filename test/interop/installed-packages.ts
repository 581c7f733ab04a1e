/** Folders with other people's packages. They lie outside of the repository and are installed once per machine. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npm } from '../support/packed-package.ts'

/** `manifest`: path of a package.json, or its text. */
export async function ensurePackages(manifest: string, name: string): Promise<string> {
  const text = manifest.startsWith('{') ? manifest : readFileSync(manifest, 'utf8')
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12)
  const folder = join(tmpdir(), `${name}-${digest}`)
  const ready = join(folder, 'ready')
  if (existsSync(ready)) return folder
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), text)
  await npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund')
  writeFileSync(ready, '')
  return folder
}
