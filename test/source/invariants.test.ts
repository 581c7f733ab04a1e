import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tokenize } from '../../scripts/tokens.ts'

const root = join(import.meta.dirname, '../..')
const documented = [...read('docs/invariants.md').matchAll(/^\| ([A-Z]{3}-\d+) +\|/gm)].map(([, id]) => id!)
const cited = citations(['src/**/*.test.ts', 'test/**/*.test.ts', 'src/testing/conformance/*.ts'])

const defects = [...read('docs/invariants.md').matchAll(/^\| (O-\d+) +\|/gm)].map(([, id]) => id!)

describe('docs/invariants.md', () => {
  test('names each invariant once', () => {
    expect(documented.length).toBeGreaterThan(0)
    expect(documented).toEqual([...new Set(documented)])
  })

  test.each(documented)('%s is proved by a test that cites it', (id) => {
    expect([...cited.keys()]).toContain(id)
  })

  test('lists the defects of other servers that tests cite, and no other', () => {
    const files = globSync(['src/**/*.test.ts', 'test/**/*.{ts,py}'], { cwd: root })
    const named = files.flatMap((file) => [...read(file).matchAll(/\bO-\d+\b/g)].map(([id]) => id))
    expect([...new Set(named)].toSorted()).toEqual(defects.toSorted())
  })

  test('is cited by ids in brackets: a number is never left out', () => {
    const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
    const wrong = files.flatMap((file) =>
      tokenize(read(file))
        .filter(
          ({ kind, text }) =>
            kind === 'string' && /\[(?:LOG|RUN|EVT|STO|SUB|SEC)\]|^(?:LOG|RUN|EVT|STO|SUB|SEC)-\d+: /.test(text),
        )
        .map(({ text }) => `${file}: ${text}`),
    )
    expect(wrong).toEqual([])
  })

  test('has every invariant that a test cites', () => {
    const unknown = [...cited].filter(([id]) => !documented.includes(id))
    expect(unknown).toEqual([])
  })
})

/** Ids in brackets in a title, and their files. Only strings count: a comment proves nothing. */
function citations(patterns: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const file of globSync(patterns, { cwd: root })) {
    if (join(root, file) === import.meta.filename) continue
    for (const { kind, text } of tokenize(read(file))) {
      if (kind !== 'string') continue
      for (const [, ids] of text.matchAll(/\[([A-Z]{3}-\d+(?:, [A-Z]{3}-\d+)*)\]/g)) {
        for (const id of ids!.split(', ')) found.set(id, [...new Set([...(found.get(id) ?? []), file])])
      }
    }
  }
  return found
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
