/** The list of `npm run mutations` is current: every change applies, and every test exists. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mutations } from '../mutations/origins.ts'

const root = join(import.meta.dirname, '../..')

test('mutations: there is one for each defect of other servers in docs/invariants.md', () => {
  const page = readFileSync(join(root, 'docs/invariants.md'), 'utf8')
  const ids = [...page.matchAll(/^\| (O-\d+) \|/gm)].map(([, id]) => id)
  expect(mutations.map(({ id }) => id)).toEqual(ids)
})

test.each(mutations)('mutations: $id can be made in $file, and a test of that id is in $test', (mutation) => {
  const source = readFileSync(join(root, mutation.file), 'utf8')
  expect(source.split(mutation.find)).toHaveLength(2)
  expect(source.replace(mutation.find, () => mutation.replace)).not.toBe(source)
  expect(readFileSync(join(root, mutation.test), 'utf8')).toMatch(new RegExp(`${mutation.title}\\b`))
})
