/** The package contains the pages that README links to, except those about development. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

interface Packed {
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

/** Pictures of the console: 2.8 MB. */
const NOT_PACKED = /^docs\/images\//
const DOCS_BYTES_MAX = 1024 * 1024

test('package: it has every page of the documentation that README and docs/README.md link to', async () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const { stdout } = await promisify(execFile)('npm', args, { maxBuffer: 64 * 1024 * 1024 })
  const [packed] = Object.values(JSON.parse(stdout) as Readonly<Record<string, Packed>>)
  const files = packed!.files.filter(({ path }) => path.startsWith('docs/'))
  const linked = ['README.md', 'docs/README.md'].flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([\w./-]+\.md)/g)]
      .map(([, path]) => new URL(path!, `file:///${page}`).pathname.slice(1))
      .filter((path) => path.startsWith('docs/')),
  )
  expect(linked.length).toBeGreaterThan(20)
  expect(linked.filter((path) => !files.some((file) => file.path === path))).toEqual([])
  expect(files.filter(({ path }) => NOT_PACKED.test(path))).toEqual([])
  expect(files.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(DOCS_BYTES_MAX)
})
