/** The program of docs/testing.md is a test that passes. */
import { expect, test } from 'vitest'
import { blocksOf, runProgram } from '../support/doc-programs.ts'

test('docs/testing.md: the test of the page passes in node:test', async () => {
  const [program] = blocksOf('docs/testing.md', 'ts')
  expect(await runProgram(program!)).toMatch(/# pass 1|ℹ pass 1/)
})
