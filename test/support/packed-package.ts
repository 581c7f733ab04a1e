/** The package as it would be published, built outside of the repository's `dist`, which other tests may use. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** With this Node and the tools of this repository, independent of the machine. */
export const toolsEnv: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: [dirname(process.execPath), join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
}

export async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  const options = { cwd, env: toolsEnv, timeout: 300_000, maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await execute('npm', [...args], options)
  return stdout
}

/** Installs the package from a tarball into an empty folder. Returns the path of its program. */
export async function installPacked(folder: string): Promise<string> {
  writeFileSync(join(folder, 'package.json'), '{}')
  await npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', await pack(folder))
  return join(folder, 'node_modules/holdfast/dist/cli/main.js')
}

/** Returns the path of the tarball. */
async function pack(folder: string): Promise<string> {
  const source = join(folder, 'package')
  mkdirSync(source)
  const flags = ['-p', join(root, 'tsconfig.build.json'), '--outDir', join(source, 'dist'), '--noCheck']
  await execute('tsc', flags, { cwd: root, env: toolsEnv, timeout: 120_000 })
  const { scripts: _scripts, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(source, 'package.json'), JSON.stringify(manifest))
  cpSync(join(root, 'src'), join(source, 'src'), { recursive: true })
  await npm(source, 'pack', '--pack-destination', folder)
  return join(
    folder,
    readdirSync(folder).find((file) => file.endsWith('.tgz'))!,
  )
}
