/** Invalid messages and headers, and messages without a response. */
import { expect, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { toElicitationId } from '../../../src/protocols/mcp/wire/tokens.ts'
import { call } from '../../support/http.ts'
import { serveChats } from '../ai-sdk/serve.ts'

const VERSION = '2026-07-28'
const meta = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
}
const modern = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'lab' }
const request = (method: string, params: object = {}): object => ({ jsonrpc: '2.0', id: 1, method, params })
const tool = { name: 'lab', arguments: { input: 'text 1' }, _meta: meta }

test.each<[string, unknown, Record<string, string>, number, number]>([
  ['a batch', [request('ping')], {}, 400, -32_600],
  ['another version of JSON-RPC', { id: 1, method: 'ping' }, {}, 400, -32_600],
  ['an unknown method', request('resources/list'), {}, 200, -32_601],
  ['an unknown revision', request('ping'), { 'mcp-protocol-version': '1999-01-01' }, 400, -32_022],
  ['a session id of another server', request('ping'), { 'mcp-session-id': 'no dots' }, 404, -32_602],
  ['no capabilities', request('tools/call', { name: 'lab' }), modern, 400, -32_602],
  ['another method in the header', request('tools/list', tool), modern, 400, -32_020],
  ['another name in the header', request('tools/call', tool), { ...modern, 'mcp-name': 'echo' }, 400, -32_020],
  ['no method in the header', request('tools/call', tool), { 'mcp-protocol-version': VERSION }, 400, -32_020],
  ['a cursor of its own', request('tools/list', { cursor: 'x' }), {}, 200, -32_602],
  ['a task that does not exist', request('tasks/get', { taskId: 'run_0' }), {}, 200, -32_602],
])('MCP: %s is refused in JSON-RPC', async (_what, body, headers, status, code) => {
  const server = await serveChats()
  const answer = await call<{ error: { code: number } }>(server, 'POST', '/mcp', { body, headers })
  expect([answer.status, answer.body.error.code]).toEqual([status, code])
  expect((await server.service.list(localPrincipal)).runs).toEqual([])
})

test('MCP: a name that a header cannot carry comes in base64', async () => {
  const server = await serveChats()
  const headers = { ...modern, 'mcp-name': `=?base64?${Buffer.from('lab').toString('base64')}?=` }
  const answer = await call<string>(server, 'POST', '/mcp', { body: request('tools/call', tool), headers })
  expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('"resultType":"complete"')])
})

test('MCP: GET without a cursor is not allowed, and with one of another server invalid', async () => {
  const server = await serveChats()
  const bare = await call(server, 'GET', '/mcp')
  expect([bare.status, bare.headers.get('allow')]).toEqual([405, 'POST'])
  const foreign = await call(server, 'GET', '/mcp', { headers: { 'last-event-id': 'abc.1' } })
  expect(foreign).toMatchObject({ status: 400, body: { error: { data: { code: 'cursor_invalid' } } } })
})

test('MCP: an answer that does not match its question is refused by HTTP status, and one without a question is ignored', async () => {
  const server = await serveChats()
  const task = { ...tool, _meta: {}, arguments: { input: 'ask Which town?' }, task: {} }
  await call(server, 'POST', '/mcp', { body: request('tools/call', task) })
  const { runs } = await server.service.list(localPrincipal)
  const run = runs[0]!.run.id
  await expect.poll(async () => (await server.service.get(localPrincipal, run)).run.status).toBe('paused')
  const answer = (key: string, result: object): Promise<{ status: number }> =>
    call(server, 'POST', '/mcp', { body: { jsonrpc: '2.0', id: toElicitationId(run, key), result } })
  expect((await answer('question', { action: 'dance' })).status).toBe(400)
  expect((await answer('another', { action: 'accept', content: { answer: 'Rome' } })).status).toBe(202)
  expect((await server.service.get(localPrincipal, run)).run.status).toBe('paused')
  expect((await answer('question', { action: 'accept', content: { answer: 'Rome' } })).status).toBe(202)
  await expect.poll(async () => (await server.service.get(localPrincipal, run)).run.status).toBe('completed')
})

test('MCP: a client that takes no stream gets one response when the run has ended', async () => {
  const server = await serveChats()
  const params = { name: 'lab', arguments: { input: 'text 3' } }
  const headers = { accept: 'application/json' }
  const answer = await call(server, 'POST', '/mcp', { body: request('tools/call', params), headers })
  expect(answer).toMatchObject({ status: 200, body: { id: 1, result: { content: [{ type: 'text' }] } } })
})
