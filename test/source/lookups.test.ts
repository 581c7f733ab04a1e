/**
 * An object inherits `constructor`, `__proto__` and others: an object that is looked up by a text from outside finds these too. Tables
 * that are looked up by any text are Maps, and a text that is only asserted to be a key is checked with `Object.hasOwn` first.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const source = join(import.meta.dirname, '../..', 'src')

/** Names of objects in a source text that are looked up by texts which they may not have. */
function looseLookups(text: string): string[] {
  const tables = [...text.matchAll(/^(?:export )?const (\w+): [^=\n]*Record<string,[^=\n]*= \{/gm)]
    .map(([, name]) => name!)
    .filter((name) => new RegExp(String.raw`\b${name}\[(?!'[^']*'\]|\d+\])`).test(text))
  const asserted = [...text.matchAll(/\b(\w+)\[[^\]\n]+ as keyof typeof \1\]/g)]
    .map(([, name]) => name!)
    .filter((name) => !text.includes(`Object.hasOwn(${name}, `))
  return [...tables, ...asserted]
}

test('no table of the source is a plain object that is indexed by arbitrary text', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.startsWith('testing/'),
  )
  expect(files.length).toBeGreaterThan(300)
  const found = files.flatMap((path) =>
    looseLookups(readFileSync(join(source, path), 'utf8')).map((name) => `${path}: ${name}`),
  )
  expect(found).toEqual([])
})

test.each([
  [
    `const ORDERS: Readonly<Record<string, string>> = { created_at: 'created' }\nORDERS[query.get('sort_by')]`,
    ['ORDERS'],
  ],
  [`const ORDERS = { created_at: 'created' } as const\nORDERS[text as keyof typeof ORDERS]`, ['ORDERS']],
  [`const ORDERS: Record<string, string> = {\n  a: 'b',\n}\nuse(ORDERS['a'])`, []],
  [`if (Object.hasOwn(ORDERS, text)) ORDERS[text as keyof typeof ORDERS]`, []],
  [`const ORDERS: ReadonlyMap<string, string> = new Map([['a', 'b']])\nORDERS.get(text)`, []],
])('the check of lookups: %j', (text, expected) => {
  expect(looseLookups(text)).toEqual(expected)
})
