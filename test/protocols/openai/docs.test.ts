/** docs/protocols/openai.md: its program runs, and its routes are those that are mounted. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { errorTable } from '../../../src/core/model/errors.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { raw, serveOpenAi } from './serve.ts'

const page = readFileSync(new URL('../../../docs/protocols/openai.md', import.meta.url), 'utf8')

test('the programs of docs/protocols/openai.md run', async () => {
  const server = await serveOpenAi()
  const programs = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, program]) => program!)
  const outputs = await Promise.all(
    programs.map(async (program, index) => {
      const file = join(temporaryFolder(), `program${index}.mjs`)
      const source = program.replaceAll(
        /from '(openai[^']*)'/g,
        (_all, name: string) => `from '${import.meta.resolve(name)}'`,
      )
      writeFileSync(file, source.replaceAll('http://localhost:7777', server.url))
      return (await promisify(execFile)(process.execPath, [file], { timeout: 60_000 })).stdout
    }),
  )
  expect(outputs).toEqual([expect.stringMatching(/^\[0\].*\[19\]/), ''])
  const { runs } = await server.service.list(localPrincipal)
  expect(runs.map(({ run }) => run.status)).toEqual(['completed', 'completed'])
})

test('every route of docs/protocols/openai.md is mounted, and responds in OpenAI’s format', async () => {
  const server = await serveOpenAi()
  const routes = [...page.matchAll(/^\| `(GET|POST|DELETE) (\/v1[^`]*)`/gm)]
  expect(routes.length).toBeGreaterThan(5)
  for (const [, method, path] of routes) {
    const { status, text } = await raw(
      server,
      path!.replace('{id}', 'nope'),
      method === 'POST' ? {} : undefined,
      {},
      method,
    )
    expect(status, `${method} ${path}`).not.toBe(405)
    expect(JSON.parse(text)).toHaveProperty(status === 200 ? 'object' : 'error.type')
  }
})

test('the statuses of failed runs are those of the table in docs/protocols/openai.md', () => {
  for (const status of [errorTable.agent_failed, errorTable.interrupted, errorTable.deadline_exceeded].map(
    (entry) => entry.status,
  ))
    expect(page).toContain(String(status))
})
