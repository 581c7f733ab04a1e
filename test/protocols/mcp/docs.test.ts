/** docs/protocols/mcp.md agrees with the code. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { blocksOf, runProgram } from '../../support/doc-programs.ts'
import { serveChats } from '../ai-sdk/serve.ts'

const PAGE = 'docs/protocols/mcp.md'

const storyteller = agent({
  id: 'storyteller',
  async *run() {
    yield 'Once upon a time.'
  },
})

test('the program of docs/protocols/mcp.md runs', async () => {
  const server = await serveChats({ components: [storyteller] })
  const [program = ''] = blocksOf(PAGE, 'ts')
  const runnable = program
    .replaceAll('http://localhost:7777', server.url)
    .replaceAll(/'(@modelcontextprotocol\/[^']+)'/g, (_all, name: string) => `'${import.meta.resolve(name)}'`)
  expect(await runProgram(`${runnable}\nconsole.log(content[0].text)\nawait client.close()`)).toBe(
    'Once upon a time.\n',
  )
})

test('every method of docs/protocols/mcp.md is served, and no other', async () => {
  const server = await serveChats()
  const page = readFileSync(new URL(`../../../${PAGE}`, import.meta.url), 'utf8')
  const table = page.slice(page.indexOf('| method | does |'), page.indexOf('## Tools'))
  const named = [...table.matchAll(/`([a-z]+\/?[a-z]*)`/g)].map(([, name]) => name!)
  const methods = named.filter((name) => !name.startsWith('notifications') && name !== 'isError')
  expect(methods).toHaveLength(9)
  const isServed = async (method: string, era: 'legacy' | 'modern'): Promise<boolean> => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
    const response = await fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(era === 'modern' && headers) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: era === 'modern' ? { _meta: meta } : {} }),
    })
    return !(await response.text()).includes('-32601')
  }
  const served = await Promise.all(
    methods.map(async (method) => (await isServed(method, 'legacy')) || (await isServed(method, 'modern'))),
  )
  expect(served).toEqual(methods.map(() => true))
  expect(await isServed('resources/list', 'legacy')).toBe(false)
})
