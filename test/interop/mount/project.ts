/** A folder with other people's frameworks and the package as it would be published, for applications to run in. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ensurePackages } from '../installed-packages.ts'
import { root } from '../served.ts'

const BUILD_MS = 3 * 60_000

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
}

/** Outside of the repository: Next.js takes the nearest folder with a lock file as its root. */
export async function ensureProject(): Promise<string> {
  const own = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as Manifest
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const text = JSON.stringify({ ...own, dependencies: { ...dependencies, ...own.dependencies } }, undefined, 2)
  const folder = await ensurePackages(text, 'holdfast-interop-mount')
  await buildPackage(join(folder, 'node_modules/holdfast'))
  return folder
}

/** Types too: templates are checked against them. */
async function buildPackage(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  await run('tsc', ['-p', 'tsconfig.build.json', '--noCheck', '--outDir', join(folder, 'dist')], root, BUILD_MS)
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
}

/** A copy of a folder of the repository inside the project. */
export function copyApp(project: string, source: string, name: string): string {
  const app = removeApp(project, name)
  cpSync(join(root, source), app, { recursive: true })
  return app
}

/** Path of an application inside the project, without files of a former run. */
export function removeApp(project: string, name: string): string {
  const app = join(project, name)
  rmSync(app, { recursive: true, force: true })
  return app
}

export async function run(program: string, args: readonly string[], cwd: string, timeoutMs: number): Promise<string> {
  const path = [join(root, 'node_modules/.bin'), process.env['PATH']].join(':')
  const env = { ...process.env, PATH: path, NEXT_TELEMETRY_DISABLED: '1' }
  const { stdout } = await promisify(execFile)(program, [...args], {
    cwd,
    env,
    timeout: timeoutMs,
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout
}
