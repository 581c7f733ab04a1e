/** The table of defects in docs/protocols/agentos.md is complete, and every test that it names exists. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = readFileSync(new URL('../../../docs/protocols/agentos.md', import.meta.url), 'utf8')
const rows = page.split('\n').filter((line) => /^\| (?:[DSTI]\d+|9\.\d) \|/.test(line))

test('docs: the AgentOS page has a row for every defect of the study', () => {
  const ids = new Set(rows.map((row) => row.split('|')[1]!.trim()))
  const numbered = (letter: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)
  const all = [...numbered('D', 12), ...numbered('S', 20), ...numbered('T', 15), ...numbered('I', 8), '9.5', '9.6']
  expect([...ids].toSorted()).toEqual(all.toSorted())
})

test('docs: every test that the AgentOS page names is in this folder', () => {
  const folder = new URL('.', import.meta.url)
  const files = readdirSync(folder).filter((file) => file.endsWith('.test.ts') && file !== 'docs.test.ts')
  const source = files.map((file) => readFileSync(new URL(file, folder), 'utf8')).join('\n')
  const named = rows.flatMap((row) => [...row.matchAll(/"([^"]+)"/g)].map(([, title]) => title!))
  expect(named.length).toBeGreaterThan(30)
  // Titles that are made for each family have its name in them.
  const missing = named.filter(
    (title) => !source.includes(title) && !source.includes(title.replace('workflow', '${kind}')),
  )
  expect(missing).toEqual([])
})
