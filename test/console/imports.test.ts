/** The console uses only the public client, like any other application. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importsOf } from '../../scripts/imports.ts'

const folder = join(import.meta.dirname, '../../console')
const ALLOWED = ['holdfast/client', 'holdfast/react', 'holdfast/structure', 'marked', 'react', 'react-dom/client']

test('console: it imports only the public client and run structure, React, the Markdown parser, and itself', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
  expect(files.length).toBeGreaterThan(20)
  const others = files.flatMap((file) =>
    importsOf(readFileSync(join(folder, file), 'utf8'))
      .map(({ specifier }) => specifier)
      .filter((specifier) => !ALLOWED.includes(specifier))
      .filter((specifier) => !specifier.startsWith('.') || !join(folder, file, '..', specifier).startsWith(folder))
      .map((specifier) => `${file} imports ${specifier}`),
  )
  expect(others).toEqual([])
  // Otherwise nothing was found that could be wrong.
  const found = importsOf(readFileSync(join(folder, 'session.ts'), 'utf8')).map(({ specifier }) => specifier)
  expect(found).toContain('holdfast/client')
})
