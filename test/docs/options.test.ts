/** Every option in a table of the docs says its default, as "Default: …", in a column of its own, or that it is required. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const docs = join(import.meta.dirname, '../../docs')
// docs/cli.md is generated, and explains above its tables what an option without a default means.
const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' }).filter(
  (page) => page.endsWith('.md') && page !== 'cli.md',
)

interface Row {
  readonly page: string
  readonly text: string
}

/** Rows of option tables that have no column of defaults. */
function optionRows(page: string): Row[] {
  const rows: Row[] = []
  let within = false
  for (const line of readFileSync(join(docs, page), 'utf8').split('\n')) {
    if (!line.startsWith('|')) within = false
    else if (/^\| [a-z ]*option \|/.test(line)) within = !/\| default/i.test(line)
    else if (within && !/^\| *-/.test(line)) rows.push({ page, text: line })
  }
  return rows
}

test('docs: every option in a table has a default or is required', () => {
  const rows = pages.flatMap(optionRows)
  expect(rows.length).toBeGreaterThan(60)
  const silent = rows.filter(({ text }) => !/Default\b.*: |Required|the same defaults/.test(text))
  expect(silent.map(({ page, text }) => `${page}: ${text}`)).toEqual([])
})
