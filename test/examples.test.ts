/** Every example runs and asserts for itself; README's program is one of them. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)

test.each(readdirSync('examples'))(
  'example %s runs',
  async (name) => {
    const { stdout } = await run(process.execPath, ['--conditions=holdfast-source', `examples/${name}/main.ts`], {
      timeout: 60_000,
    })
    expect(stdout).toContain(`${name}: `)
  },
  90_000,
)

test("README's program is the one in examples/hello", () => {
  const [, program] = /```ts\n\/\/ agents\.ts\n([^]*?)```/.exec(readFileSync('README.md', 'utf8')) ?? []
  expect(program).toBe(readFileSync('examples/hello/agents.ts', 'utf8'))
})
