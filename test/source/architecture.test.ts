/** Rules for the whole source: allowed imports, no cycles, and who may append to a log. */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportsOf, importsOf } from '../../scripts/imports.ts'
import { cycles, edgesOf, packagesOf, violations } from './layers.ts'

const root = join(import.meta.dirname, '../..')

/** Source files that satisfy a condition, without tests, stores and what tests stores. */
function sourcesThat(isWanted: (text: string) => boolean): string[] {
  return globSync('src/**/*.{ts,tsx}', { cwd: root })
    .filter((file) => !/\.test\.tsx?$|^src\/(?:stores|testing)\//.test(file))
    .filter((file) => isWanted(readFileSync(join(root, file), 'utf8')))
    .toSorted()
}

/** Whether a file appends to something named log, or to anything if it imports `RunLog`. */
function appendsToRunLog(text: string): boolean {
  if (/\blog\.append(?:Encoded)?\(/i.test(text)) return true
  return /\bRunLog\b[^;]*?from '[^']*run-log\.ts'/.test(text) && /\.append(?:Encoded)?\(/.test(text)
}

describe('the source', () => {
  const edges = edgesOf(join(root, 'src'))

  test('source: the import scanner finds its files', () => {
    expect(edges.filter((edge) => edge.where === 'source').length).toBeGreaterThan(3000)
  })

  test('source: every import follows the layers of test/source/layers.ts', () => {
    expect(violations(edges)).toEqual([])
  })

  test('source: protocols import nothing of core/execution, core/recovery and core/scheduling', () => {
    const isInner = /^core\/(?:execution|recovery|scheduling)\//
    expect(edges.filter(({ from, to }) => from.startsWith('protocols/') && isInner.test(to))).toEqual([])
    expect(edges.some(({ to }) => isInner.test(to))).toBe(true)
  })

  test('source: there is no import cycle at run time', () => {
    expect(cycles(edges)).toEqual([])
  })

  test('source: it imports only packages that are installed with it', () => {
    const { dependencies, peerDependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(packagesOf(edges).filter((name) => !(name in dependencies) && !(name in peerDependencies))).toEqual([])
  })

  test('[LOG-4] source: only the run log and store transfers open a log writer', () => {
    expect(sourcesThat((text) => /\.writer\(/.test(text))).toEqual([
      'src/cli/transfer/copy-run.ts',
      'src/cli/transfer/write-log.ts',
      'src/core/execution/run-log.ts',
    ])
  })

  test('[LOG-4] source: exactly the files under "Who appends" in ARCHITECTURE.md append to a run log', () => {
    const [, section = ''] = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').split('\n## Who appends\n')
    const listed = [...section.split('\n## ')[0]!.matchAll(/\]\((src\/core\/[^)]+)\)/g)].map(([, file]) => file!)
    const appending = sourcesThat(appendsToRunLog)
    expect(new Set(listed)).toEqual(new Set([...appending, 'src/core/execution/run-log.ts']))
  })
})

describe('the check of the layers', () => {
  test('finds nothing in a tree that follows them', () => {
    const tree = {
      'core/run.ts': `import { limits } from './limits.ts'`,
      'core/limits.ts': `export const limits = 1`,
      'core/structure/fold.ts': `import type { Run } from '../run.ts'`,
      'sse/encode.ts': ``,
      'client/client.ts': `import type { Run } from '../core/run.ts'\nimport '../core/structure/fold.ts'\nimport '../sse/encode.ts'`,
      'stores/memory.ts': `import { limits } from '../core/limits.ts'\nimport './shared/commit.ts'`,
      'stores/shared/commit.ts': `import type { Run } from '../../core/run.ts'`,
      'stores/sqlite/index.ts': `new Worker(new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url))`,
      'stores/sqlite/worker.ts': `import type { Store } from './index.ts'\nimport { DatabaseSync } from 'node:sqlite'`,
      'server/index.ts': `const { open } = await import('../stores/sqlite/index.ts')\nimport pino from 'pino'`,
      'cli/main.ts': `await import('../server/index.ts')`,
      'index.ts': `export { serve } from './server/index.ts'`,
      'core/run.test.ts': `import '../stores/memory.ts'`,
    }
    withTree(tree, (edges) => {
      expect(violations(edges)).toEqual([])
      expect(cycles(edges)).toEqual([])
      expect(packagesOf(edges)).toEqual(['pino'])
    })
  })

  const forbidden: [why: string, from: string, code: string, to: string][] = [
    ['core and a store', 'core/run.ts', `import { open } from '../stores/memory.ts'`, 'stores/memory.ts'],
    ['core and a node: module', 'core/run.ts', `import type { Server } from 'node:http'`, 'node:http'],
    ['core and a package', 'core/run.ts', `import { z } from 'zod'`, 'zod'],
    ['a browser part and a node: module', 'client/client.ts', `import 'node:events'`, 'node:events'],
    ['a store and its sibling', 'stores/memory.ts', `export { x } from './sqlite/index.ts'`, 'stores/sqlite/index.ts'],
    ['what stores share and a store', 'stores/shared/a.ts', `import '../memory.ts'`, 'stores/memory.ts'],
    ['a store and a protocol', 'stores/memory.ts', `import '../protocols/a2a/wire.ts'`, 'protocols/a2a/wire.ts'],
    ['a protocol and its sibling', 'protocols/native/routes.ts', `import '../a2a/wire.ts'`, 'protocols/a2a/wire.ts'],
    ['an agent and its sibling', 'agents/lab/script.ts', `import '../story.ts'`, 'agents/story.ts'],
    ['a value of core in the run structure', 'core/structure/a.ts', `import { x } from '../run.ts'`, 'core/run.ts'],
    ['a value of a port in the model', 'core/model/a.ts', `import { x } from '../ports/b.ts'`, 'core/ports/b.ts'],
    ['a type of the rest of core in a port', 'core/ports/b.ts', `import type { X } from '../run.ts'`, 'core/run.ts'],
    ['a value of core in the client', 'client/client.ts', `import { type Run } from '../core/run.ts'`, 'core/run.ts'],
    ['the server and the cli, loaded late', 'server/x.ts', `await import('../cli/main.ts')`, 'cli/main.ts'],
    [
      'a file started as a worker',
      'core/run.ts',
      `new URL('../stores/memory.ts', import.meta.url)`,
      'stores/memory.ts',
    ],
    ['testing and a store', 'testing/index.ts', `export * from '../stores/memory.ts'`, 'stores/memory.ts'],
    ['the library entry and testing', 'index.ts', `export { a } from './testing/index.ts'`, 'testing/index.ts'],
    ['the library entry and the cli', 'index.ts', `export { a } from './cli/main.ts'`, 'cli/main.ts'],
    ['http and a protocol', 'http/app.ts', `import '../protocols/a2a/wire.ts'`, 'protocols/a2a/wire.ts'],
    ['http and the server', 'http/app.ts', `import type { A } from '../server/x.ts'`, 'server/x.ts'],
    ['the package by its own name', 'server/x.ts', `import { a } from 'holdfast/sse'`, 'holdfast/sse'],
    ['a file that does not exist', 'server/x.ts', `import { a } from './y.ts'`, 'server/y.ts'],
    ['a file outside the source', 'server/x.ts', `import { a } from '../../scripts/y.ts'`, '../scripts/y.ts'],
    ['a folder without a rule', 'utils/x.ts', `import { a } from '../core/run.ts'`, 'core/run.ts'],
  ]

  test.each(forbidden)('finds %s', (_why, from, code, to) => {
    const others = [
      'core/run.ts',
      'stores/memory.ts',
      'stores/sqlite/index.ts',
      'protocols/a2a/wire.ts',
      'agents/story.ts',
    ]
    const more = ['server/x.ts', 'cli/main.ts', 'testing/index.ts']
    const tree = Object.fromEntries([...others, ...more].map((file) => [file, '']))
    withTree({ ...tree, [from]: code }, (edges) => {
      expect(violations(edges)).toEqual([expect.stringMatching(`^${from} → ${to}: `)])
    })
  })

  test('finds each cycle once, and none made of types', () => {
    const tree = {
      'core/a.ts': `import { b } from './b.ts'`,
      'core/b.ts': `import { c } from './c.ts'\nimport type { A } from './a.ts'`,
      'core/c.ts': `export { a } from './a.ts'`,
      'core/d.ts': `import './d.ts'`,
      'core/e.ts': `await import('./f.ts')`,
      'core/f.ts': `import { e } from './e.ts'\nimport { a } from './a.ts'`,
      'core/g.ts': `import type { H } from './h.ts'`,
      'core/h.ts': `import { g } from './g.ts'`,
    }
    withTree(tree, (edges) => {
      expect(cycles(edges)).toEqual([
        'core/a.ts → core/b.ts → core/c.ts → core/a.ts',
        'core/d.ts → core/d.ts',
        'core/e.ts → core/f.ts → core/e.ts',
      ])
    })
  })
})

describe('the import parser', () => {
  test('finds imports of every form', () => {
    const source = `#!/usr/bin/env node
      import './side.ts'
      import a, { type B, c as d } from './value.ts'
      import * as space from "./space.ts"
      import type { E } from './type.ts'
      import type from './named-type.ts'
      import {
        f,
      } from './lines.ts'
      export { g } from './passed-on.ts'
      export * from './all.ts'
      export type { H } from './passed-on-type.ts'
      export const i = \`\${await import('./in-template.ts')}\`
      const j = await import(\`./template.ts\`)
      const k = [...(await import('./spread.ts')).list]
      new Worker(new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url))`
    expect(importsOf(source).map(({ kind, specifier }) => `${kind} ${specifier}`)).toEqual([
      'value ./side.ts',
      'value ./value.ts',
      'value ./space.ts',
      'type ./type.ts',
      'value ./named-type.ts',
      'value ./lines.ts',
      'value ./passed-on.ts',
      'value ./all.ts',
      'type ./passed-on-type.ts',
      'dynamic ./in-template.ts',
      'dynamic ./template.ts',
      'dynamic ./spread.ts',
      'file ./worker.ts',
      'file ./worker.js',
    ])
  })

  test('ignores comments, strings, patterns, members and computed names', () => {
    const source = String.raw`
      // import { a } from './comment.ts'
      /* export * from './block.ts' */
      const text = "import { a } from './string.ts'" + 'it\'s import("./escaped.ts")'
      const template = ${'`'}import('./template.ts') ${'${'}{ nested: ${'`'}import('./nested.ts')${'`'} }.nested} import('./after.ts')${'`'}
      const pattern = text.replace(/['"${'`'}/]import\('.\/pattern.ts'\)/g, '')
      const half = 4 / 2; const quarter = half / 2 // import './division.ts'
      loader.import('./member.ts')
      const table = { import: './key.ts', from: './other.ts' }
      await import(table.import)
      await import(${'`'}./${'${'}text}.ts${'`'})
      new URL('./page.html', request.url)
      export const from = 'x'
      export function read(from: string) { return from }
      const later = './later.ts'`
    expect(importsOf(source)).toEqual([])
  })

  test('finds exported names, and which are types', () => {
    const source = `
      export const a = 1
      export async function* b() {}
      export abstract class C {}
      export interface D {}
      export type E = 1
      export { f, g as h, type I, type J as K } from './x.ts'
      export type { L, M as N }
      export * from './y.ts'
      export * as o from './z.ts'
      export default 1
      // export const no = 1`
    const types = ['type D', 'type E', 'type I', 'type K', 'type L', 'type N']
    expect(exportsOf(source)).toEqual(['*', 'C', 'a', 'b', 'default', 'f', 'h', 'o', ...types])
  })
})

function withTree(files: Readonly<Record<string, string>>, look: (edges: ReturnType<typeof edgesOf>) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-layers-'))
  try {
    for (const [file, code] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), code)
    }
    look(edgesOf(folder))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
