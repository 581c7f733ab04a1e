/** `hf.fetch` in the servers of other runtimes. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const binaries = join(import.meta.dirname, '../node_modules/.bin')
const program = join(import.meta.dirname, 'support/programs/mounted-in-runtime.ts')

test.each([
  ['Bun', join(binaries, 'bun')],
  ['Deno', join(binaries, 'deno'), 'run', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual'],
] as const)('%s: a mounted server starts and streams a run', async (_name, binary, ...flags) => {
  const { stdout } = await promisify(execFile)(binary, [...flags, program], { timeout: 90_000 })
  expect(stdout).toBe('200 /api/agents/runs/ID you said hi true\n')
})
