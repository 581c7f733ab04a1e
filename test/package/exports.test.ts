import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportsOf } from '../../scripts/imports.ts'

interface Target {
  readonly types: string
  readonly default: string
}

const root = join(import.meta.dirname, '../..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { './package.json': _data, ...exported } = manifest.exports as Record<string, Target>
const entries = Object.entries(exported).map(([entry, target]) => ({ entry, target, source: sourceOf(target.default) }))

describe.each(entries)('package export $entry', ({ target, source }) => {
  test('is built from a file that exists, and its types from the same one', () => {
    expect(target.types).toBe(target.default.replace(/\.js$/, '.d.ts'))
    expect(existsSync(join(root, source)), source).toBe(true)
  })

  // An addition is made on purpose: `npx vitest run test/package/exports.test.ts -u`, a page of the docs, and a line in the changelog.
  test('has exactly the public names of the snapshot', () => {
    expect(exportsOf(readFileSync(join(root, source), 'utf8')).join('\n')).toMatchSnapshot()
  })

  test('exports every name that it declares', async () => {
    const named = exportsOf(readFileSync(join(root, source), 'utf8')).filter((name) => !name.startsWith('type '))
    expect(Object.keys(await import(join(root, source))).toSorted()).toEqual(named)
  })
})

test('package: the program is built from a file that exists', () => {
  for (const file of Object.values<string>(manifest.bin))
    expect(existsSync(join(root, sourceOf(file))), file).toBe(true)
})

function sourceOf(built: string): string {
  return built.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts')
}
