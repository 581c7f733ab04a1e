/**
 * Checks the published package: packs it, installs the tarball into an empty project, and uses it there.
 * `node scripts/pack-check.ts [check…]` runs only the named checks.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { command, Failure, root, runSteps } from './command.ts'
import { olderNode } from './older-node.ts'

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly name: string
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, unknown>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Importable entry points, without `./package.json`. */
const specifiers = Object.keys(manifest.exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => manifest.name + path.slice(1))

const folder = mkdtempSync(join(tmpdir(), 'holdfast-pack-'))
const project = join(folder, 'project')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const preparation = { pack, install }
const checks = {
  publint,
  attw,
  exports: importEverything,
  types: compileEverything,
  program: runProgram,
  readme: runReadme,
  'old node': runOnOldNode,
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !Object.keys(checks).includes(name))
if (unknown.length > 0) throw new Error(`no check ${unknown.join(', ')}; there are ${Object.keys(checks).join(', ')}`)

runSteps(
  'package',
  Object.entries({ ...preparation, ...checks })
    .filter(([name]) => wanted.length === 0 || name in preparation || wanted.includes(name))
    .map(([name, run]) => ({ name, run })),
)

/** Runs `prepack`, like a release. */
function pack(): string {
  command(['npm', 'pack', '--pack-destination', folder])
  return tarball().slice(folder.length + 1)
}

function tarball(): string {
  return join(
    folder,
    readdirSync(folder).find((file) => file.endsWith('.tgz'))!,
  )
}

function install(): void {
  mkdirSync(project)
  command(['npm', 'init', '--yes'], { cwd: project })
  npmInstall(tarball())
}

function npmInstall(...what: string[]): void {
  command(['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', ...what], { cwd: project })
}

function publint(): void {
  command(['publint', 'run', tarball(), '--strict'])
}

function attw(): void {
  command(['attw', tarball(), '--profile', 'esm-only', '--no-emoji', '--no-color'])
}

/** Every entry point loads without extra packages, except for declared optional peers. */
function importEverything(): string {
  const peers = new Set<string>()
  for (const specifier of specifiers) {
    for (let missing = importOne(specifier); missing !== undefined; missing = importOne(specifier)) {
      const range = manifest.peerDependencies?.[missing]
      if (range === undefined || peers.has(missing))
        throw new Failure(`${specifier} needs ${missing}, which is neither a dependency nor an optional peer`)
      peers.add(missing)
      npmInstall(`${missing}@${range}`)
    }
  }
  return `${specifiers.length} entries${peers.size > 0 ? `, with the optional ${[...peers].join(', ')}` : ''}`
}

/** The missing package, if any. */
function importOne(specifier: string): string | undefined {
  try {
    command(['node', '--input-type=module', '--eval', `await import(${JSON.stringify(specifier)})`], { cwd: project })
    return undefined
  } catch (error) {
    const missing = /Cannot find package '([^']+)'/.exec(String(error))?.[1]
    if (missing === undefined || missing === manifest.name) throw error
    return missing
  }
}

/** With `skipLibCheck` off, because unresolved types would silently become `any`. */
function compileEverything(): string {
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'dom', 'dom.asynciterable'],
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
  }
  const imports = specifiers.map(
    (specifier, index) => `import * as entry${index} from '${specifier}'\nvoid entry${index}\n`,
  )
  // `@types/json-schema` is required by the types of `ai`.
  for (const name of ['@types/node', '@types/json-schema', ...Object.keys(manifest.peerDependencies ?? {})]) link(name)
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['entries.ts'] }))
  writeFileSync(join(project, 'entries.ts'), imports.join(''))
  command(['tsc', '-p', project])
  return `${specifiers.length} entries`
}

/** Uses the package of this checkout, at the version that the tests use: the newest ones of several ranges need not fit each other. */
function link(name: string): void {
  const path = join(project, 'node_modules', name)
  if (existsSync(path)) return
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(join(root, 'node_modules', name), path)
}

function runProgram(): void {
  for (const name of Object.keys(manifest.bin)) {
    const printed = command([program(name), '--version'], { cwd: project }).trim()
    if (!printed.split(/\s/).includes(manifest.version))
      throw new Failure(`${name} --version printed ${JSON.stringify(printed)}`)
  }
}

/** Serves the README's program with the installed package and starts one run. */
function runReadme(): string {
  const [, source] = /```ts\n\/\/ agents\.ts\n([^]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  if (source === undefined) throw new Failure('README.md has no program')
  writeFileSync(join(project, 'agents.ts'), source)
  return command(['node', join(root, 'scripts', 'try-readme.ts'), program('holdfast')], { cwd: project }).trim()
}

/** The version check must itself run on an unsupported Node. */
function runOnOldNode(): string {
  const older = olderNode()
  if (older === undefined) return 'none on this machine'
  for (const name of Object.keys(manifest.bin)) {
    const printed = failureOf([older.path, program(name), '--version'])
    if (!/needs Node/.test(printed)) throw new Failure(`${name} on Node ${older.version} printed\n${printed}`)
  }
  return older.version
}

function failureOf(line: readonly [string, ...string[]]): string {
  try {
    command(line, { cwd: project })
  } catch (error) {
    return String(error)
  }
  throw new Failure(`${line.join(' ')} exited with 0`)
}

function program(name: string): string {
  return join(project, 'node_modules', '.bin', name)
}
