/** docs/protocols/ai-sdk.md: its program runs, and its routes are those that are mounted. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary.ts'
import { serveChats } from './serve.ts'

const page = readFileSync(new URL('../../../docs/protocols/ai-sdk.md', import.meta.url), 'utf8')

test('the program of docs/protocols/ai-sdk.md resumes its answer', async () => {
  const server = await serveChats()
  const [, program] = /```js\n(.*?)```/s.exec(page)!
  const file = join(temporaryFolder(), 'program.mjs')
  const source = program!.replace(`'ai'`, `'${import.meta.resolve('ai')}'`)
  writeFileSync(file, source.replaceAll('http://localhost:7777', server.url))
  const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 60_000 })
  expect(stdout).toMatch(/^\[0\].*\[19\]/)
})

test('every route of docs/protocols/ai-sdk.md is mounted', async () => {
  const server = await serveChats()
  const routes = [...page.matchAll(/^\| `(GET|POST) (\/ai[^`]*)`/gm)]
  expect(routes).toHaveLength(4)
  const statuses = await Promise.all(
    routes.map(async ([, method, path]) => {
      const address = server.url + path!.replace('{component}', 'lab').replace('{chat}', 'c1')
      return (await fetch(address, { method: method!, ...(method === 'POST' && { body: '{}' }) })).status
    }),
  )
  expect(statuses).toEqual([400, 204, 200, 200])
})
