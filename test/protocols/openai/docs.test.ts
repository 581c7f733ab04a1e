/** The page about this protocol says what the code does: its program runs, and its routes are those that are mounted. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { errorTable } from '../../../src/core/model/errors.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { raw, serveOpenAi } from './serve.ts'

const page = readFileSync(new URL('../../../docs/protocols/openai.md', import.meta.url), 'utf8')

test('the program of docs/protocols/openai.md runs', async () => {
  const server = await serveOpenAi()
  const [, program] = /```js\n(.*?)```/s.exec(page)!
  const file = join(temporaryFolder(), 'program.mjs')
  const source = program!.replace(`'openai'`, `'${import.meta.resolve('openai')}'`)
  writeFileSync(file, source.replaceAll('http://localhost:7777', server.url))
  const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 60_000 })
  expect(stdout).toMatch(/^\[0\].*\[19\]/)
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
