import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseScript } from './script.ts'
import {
  isStatementName,
  NAME_CHARS_MAX,
  rulesOf,
  SCRIPT_CHARS_MAX,
  SCRIPT_STATEMENTS_MAX,
  statementTable,
  usageOf,
} from './statements.ts'

const page = readFileSync(new URL('../../../docs/lab.md', import.meta.url), 'utf8')
const names = Object.keys(statementTable).filter(isStatementName)

/** Rows of the table with the given first heading. */
function tableOf(heading: string): string[][] {
  const lines = page.split('\n')
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} `))
  const rows = lines.slice(start + 2)
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

test('docs/lab.md lists every statement of the lab, and no others', () => {
  const expected = names.map((name) => [`\`${usageOf(name)}\``, statementTable[name].does])
  expect(tableOf('statement')).toEqual(expected)
})

test('docs/lab.md lists every limit of a script, and no others', () => {
  const statementsOf = new Map<string, string[]>()
  for (const name of names) {
    for (const rule of rulesOf(name)) {
      if (rule.form !== 'number') continue
      const bound = `${rule.placeholder} ${rule.max}`
      statementsOf.set(bound, [...(statementsOf.get(bound) ?? []), `\`${name}\``])
    }
  }
  const expected = new Set([`script ${SCRIPT_CHARS_MAX}`, `script ${SCRIPT_STATEMENTS_MAX}`, `NAME ${NAME_CHARS_MAX}`])
  for (const [bound, statements] of statementsOf) {
    const [shown, max] = bound.split(' ')
    expected.add(shown === 'N' ? `N of ${statements.join(' and ')} ${max}` : bound)
  }
  const documented = tableOf('limit').flatMap(([what, max]) => {
    const subjects =
      what!.startsWith('characters in') || what!.startsWith('statements in')
        ? [what!.split(' ').at(-1)!]
        : what!.split(', ')
    return subjects.map((subject) => `${subject} ${max!.replaceAll(',', '')}`)
  })
  expect(documented.toSorted()).toEqual([...expected].toSorted())
})

test('docs/lab.md: every script runs', () => {
  const scripts = [...page.matchAll(/"input":"([^"]*)"/g)].map(([, script]) => script!)
  expect(scripts.length).toBeGreaterThan(3)
  for (const script of scripts) expect(() => parseScript(script)).not.toThrow()
})
