/** docs/protocols/ag-ui.md: its programs run, and its routes are those that are mounted. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { blocksOf, runProgram } from '../../support/doc-programs.ts'
import { serveChats } from '../ai-sdk/serve.ts'

const PAGE = 'docs/protocols/ag-ui.md'

const storyteller = agent({
  id: 'storyteller',
  async *run() {
    yield 'Once upon a time.'
  },
})

const asker = agent({
  id: 'asker',
  async *run(_input, { ask }) {
    yield String(await ask('Shall I?'))
  },
})

test('the programs of docs/protocols/ag-ui.md run', async () => {
  const server = await serveChats({ components: [storyteller, asker] })
  const run = (program: string): Promise<string> =>
    runProgram(
      program
        .replaceAll('http://localhost:7777', server.url)
        .replaceAll(`'@ag-ui/client'`, `'${import.meta.resolve('@ag-ui/client')}'`),
    )
  const [start = '', again = '', connect = '', answer = ''] = blocksOf(PAGE, 'ts')
  const shown = (name: string): string => `console.log(${name}.messages.map(({ content }) => content).join(' | '))\n`
  expect(await run([start, again, shown('agent'), connect, shown('page')].join('\n'))).toBe(
    'Tell me about the sea | Once upon a time.\n'.repeat(2),
  )
  const asking = start.replace('storyteller', 'asker').replaceAll('-1', '-2')
  expect(await run([asking, answer, shown('agent')].join('\n'))).toBe('Tell me about the sea | true\n')
})

test('every route of docs/protocols/ag-ui.md is mounted', async () => {
  const server = await serveChats()
  const page = readFileSync(new URL(`../../../${PAGE}`, import.meta.url), 'utf8')
  const routes = [...page.matchAll(/^\| `(GET|POST) (\/ag-ui[^`]*)`/gm)]
  expect(routes).toHaveLength(5)
  const statuses = await Promise.all(
    routes.map(async ([, method, path]) => {
      const named = { '{component}': 'lab', '{thread}': 't1', '{run}': 'run_0' }
      const address = path!.replace(/\{\w+\}/g, (name) => named[name as keyof typeof named])
      const headers = { 'content-type': 'application/json' }
      const sent = method === 'POST' ? { method, headers, body: '{}' } : {}
      return (await fetch(server.url + address, sent)).status
    }),
  )
  expect(statuses).toEqual([400, 200, 204, 200, 404])
})
