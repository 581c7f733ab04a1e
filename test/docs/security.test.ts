/** docs/security.md cites tests by file name: each of them exists, and every risk of the OWASP list has one. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const text = readFileSync(join(root, 'docs/security.md'), 'utf8')
const risks = text.split('\n').filter((line) => /^\| ASI\d\d /.test(line))
const citedIn = (line: string): string[] => [...line.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, file]) => file!)

test('docs/security.md lists the ten risks of the OWASP list, in order', () => {
  const numbers = risks.map((line) => Number(/ASI(\d\d)/.exec(line)![1]))
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

test('docs/security.md cites at least one test for every risk', () => {
  expect(risks.filter((line) => citedIn(line).length === 0)).toEqual([])
})

test('docs/security.md cites only tests that exist', () => {
  expect(citedIn(text).filter((file) => !existsSync(join(root, file)))).toEqual([])
})

test('docs/security.md names only scripts that package.json has', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
  const named = [...text.matchAll(/`npm run ([\w:]+)/g)].map(([, name]) => name!)
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
})
