/** Declarations of the package: what appears in a signature can be imported from an entry point, and exports have doc comments. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { undocumentedExports, unimportableTypes } from '../../scripts/reachable-types.ts'
import { temporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '../..')

/** Documented as not for applications: bundles load the engine by this name. */
const INTERNAL = ['./engine', './package.json']

/** The package's declarations, installed in an empty project. */
const project = mkdtempSync(join(tmpdir(), 'holdfast-types-'))
const installed = join(project, 'node_modules/holdfast')
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string }>
}

function tsc(cwd: string, ...flags: readonly string[]): string {
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), flags, { cwd, encoding: 'utf8' })
  return stdout
}

beforeAll(() => {
  const written = ['--emitDeclarationOnly', '--declarationMap', 'false', '--outDir', installed]
  expect(tsc(root, '-p', 'tsconfig.build.json', ...written)).toBe('')
  mkdirSync(join(project, 'node_modules/@types'))
  for (const name of ['@types/node', 'jose'])
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

/** Declaration files of the entry points. */
const entries = Object.entries(exports)
  .filter(([name]) => !INTERNAL.includes(name))
  .map(([, { types }]) => join(installed, types.replace('./dist/', '')))

test('package: every exported function, class and interface has a doc comment, which editors show', () => {
  expect(undocumentedExports(entries).map((name) => name.replace(`${installed}/`, ''))).toEqual([])
})

test('package: every type that is reachable from an exported one is exported by an entry point', () => {
  const found = unimportableTypes(entries).map(({ type, usedBy }) =>
    `${type} of ${usedBy}`.replaceAll(`${installed}/`, ''),
  )
  expect(found).toEqual([])
})

test('package: the types of holdfast, its client and agents need no optional package, also where libraries are checked', () => {
  const types = { '.': { types: './index.d.ts' }, './client': { types: './client/index.d.ts' } }
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name: 'holdfast', type: 'module', exports: types }))
  writeFileSync(
    join(project, 'agents.ts'),
    `import { agent, holdfast } from 'holdfast'
import { createClient } from 'holdfast/client'
const plain = agent({ id: 'plain', async *run(input) { yield input.toUpperCase() } })
const modelled = agent({ id: 'modelled', model: 'openai/gpt-5', instructions: 'Be brief.' })
export const hf = holdfast({ components: [plain, modelled] })
export const client = createClient({ url: 'http://localhost' })
// @ts-expect-error -- both
agent({ id: 'both', model: 'openai/gpt-5', async *run() {} })
`,
  )
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
  expect(tsc(project, ...flags, '--skipLibCheck', 'false', 'agents.ts')).toBe('')
})

test('package: the memory store compiles outside of the repository, against holdfast/stores alone', () => {
  const types = { './stores': { types: './stores/index.d.ts' } }
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name: 'holdfast', type: 'module', exports: types }))
  const folder = join(project, 'own-store')
  const files = ['memory.ts', 'memory/documents.ts', 'memory/transfer.ts', 'memory/usage.ts', 'memory/writer.ts']
  for (const file of [...files, 'shared/refusals.ts', 'shared/document-listing.ts']) {
    const source = readFileSync(join(root, 'src/stores', file), 'utf8')
    const foreign = /from '[./]+(?:core\/[^']+|shared\/(?!refusals|document-listing)[^']+)'/g
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), source.replaceAll(foreign, "from 'holdfast/stores'"))
  }
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--lib', 'es2024,esnext']
  expect(tsc(project, ...flags, '--types', 'node', '--allowImportingTsExtensions', join(folder, 'memory.ts'))).toBe('')
})

test('reachable types: what signatures name is found across files, aliases and imports; constructors of types are not signatures', () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'lib'))
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
  write(
    'index.d.ts',
    `export { make, type Handle } from './lib/make.ts';
export { Thing } from './lib/thing.ts';
export type { Options as ThingOptions } from './lib/options.ts';
`,
  )
  write(
    'lib/make.d.ts',
    `import type { Options } from './options.ts';
import type { Hidden } from './options.ts';
interface Base {
    readonly deep: import('./thing.ts').Inner;
}
export declare class Handle {
    constructor(hidden: Hidden);
    static of(hidden: Hidden): Handle;
    get(): Base;
}
export declare function make(options: Options): Handle;
`,
  )
  write('lib/options.d.ts', 'export interface Options {\n    readonly on: boolean;\n}\nexport type Hidden = string;\n')
  write(
    'lib/thing.d.ts',
    `export interface Inner {
    readonly thing: Thing;
}
type Parts = number;
export declare class Thing {
    constructor(parts: Parts);
}
`,
  )
  const found = unimportableTypes([join(folder, 'index.d.ts')]).map(({ type }) => type.replace(`${folder}/`, ''))
  expect(found).toEqual(['lib/make.d.ts#Base', 'lib/thing.d.ts#Inner', 'lib/thing.d.ts#Parts'])
})

test('undocumented exports: functions, classes and interfaces without a comment right above them, wherever they are declared', () => {
  const folder = temporaryFolder()
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
  write('index.d.ts', `export { Bare, made, type Options, overloaded, type Other, type Name } from './made.ts';\n`)
  write(
    'made.d.ts',
    `/** About the file. */
import type { Thing } from './thing.ts';
export declare function made(thing: Thing): void;
/** Says what it is. */
export interface Options {
    /** A field. */
    readonly on: boolean;
}
export interface Other {
}
/** Documented once. */
export declare function overloaded(one: string): void;
export declare function overloaded(one: number): void;
export declare class Bare {
}
export type Name = string;
`,
  )
  const found = undocumentedExports([join(folder, 'index.d.ts')]).map((name) =>
    name.replace(`${folder}/made.d.ts#`, ''),
  )
  expect(found).toEqual(['Bare', 'Other', 'made'])
})
