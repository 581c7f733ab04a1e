/** Text of exceptions that clients see is the same in every protocol: the table of docs/security.md. */
import { expect, test } from 'vitest'
import { silentLogger } from '../../src/core/ports/logger.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { freePort } from '../support/free-port.ts'
import { call, startRun, untilFinished } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { Peer } from './a2a/peer.ts'
import { message, serveA2a } from './a2a/serve.ts'

const RAW = 'ENOENT: /srv/secrets/kelp.pem'
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-|[0-9A-Z]{26}|[\w-]{16,}/

interface Link {
  readonly protocol: string
  readonly url: string
  readonly resume: { readonly url: string; readonly headers?: Record<string, string> }
}

/** What every protocol shows of a failed run, by protocol. */
async function shownOf(script: string, redact?: { readonly exceptions: boolean }): Promise<Map<string, string>> {
  const server = await serveInProcess({ store: createMemoryStore(), ...(redact !== undefined && { redact }) })
  const { id } = await startRun(server, script)
  await untilFinished(server, id)
  const { body } = await call<{ links: Link[] }>(server, 'GET', `/runs/${id}/links?protocol=native&position=-1`)
  const shown = new Map<string, string>()
  for (const { protocol, resume } of body.links) {
    const answer = await call<unknown>(server, 'GET', resume.url, { headers: resume.headers ?? {} })
    shown.set(protocol, typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
  }
  const chat = { model: 'lab', messages: [{ role: 'user', content: script }] }
  const completion = await call<unknown>(server, 'POST', '/v1/chat/completions', { body: chat })
  return shown.set('chat completion', JSON.stringify(completion.body))
}

test('an exception of an agent is shown with its message in every protocol', async () => {
  const shown = await shownOf(`text 1; throw ${RAW}`)
  expect([...shown.keys()]).toEqual(['native', 'agentos', 'openai', 'a2a', 'ai-sdk', 'ag-ui', 'mcp', 'chat completion'])
  for (const [protocol, text] of shown) {
    expect(text, protocol).toContain(RAW)
    expect(text, protocol).not.toContain('.ts:') // of a stack
  }
})

test.each([`text 1; throw ${RAW}`, `text 1; tool look; throw ${RAW}`])(
  'redact.exceptions: every protocol reports that there was an exception, and its id: %s',
  async (script) => {
    const shown = await shownOf(script, { exceptions: true })
    for (const [protocol, text] of shown) {
      // AgentOS and others repeat the input, which has the script.
      expect(text.replaceAll(script, ''), protocol).not.toContain(RAW)
      expect(text, protocol).toMatch(/the server log has it as error [\w-]{8,}/)
    }
  },
)

test('redact.exceptions: a failure that an agent reports itself is shown', async () => {
  const shown = await shownOf('text 1; fail teapot short and stout', { exceptions: true })
  for (const [protocol, text] of shown) expect(text, protocol).toContain('short and stout')
})

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })

test('an exception of the server is reported as an id only in every protocol, and the log has both', async () => {
  const kept = createMemoryStore()
  const broken = (): never => {
    throw new TypeError(RAW)
  }
  const lines: string[] = []
  const note = (fields: object): void => {
    const { err, ...rest } = fields as { err?: Error }
    lines.push(`${JSON.stringify(rest)} ${err?.message ?? ''}`)
  }
  const grpcPort = await freePort()
  const store: Store = overriding(kept, { get: broken, findByKey: broken, list: broken, create: broken })
  const server = await serveA2a({
    store,
    logger: { ...silentLogger, warn: note, error: note },
    a2a: { defaultComponent: 'lab', grpcPort },
  })
  const messages = [{ id: 'm', role: 'user', content: 'text 1' }]
  const requests: readonly (readonly [string, string, string, object?])[] = [
    ['native', 'GET', '/runs/run_1'],
    ['AgentOS', 'GET', '/agents/lab/runs/run_1?session_id=one'],
    ['OpenAI', 'GET', '/v1/responses/resp_1'],
    ['OpenAI', 'POST', '/v1/chat/completions', { model: 'lab', messages }],
    ['A2A REST', 'GET', '/a2a/lab/tasks/run_1'],
    ['A2A JSON-RPC', 'POST', '/a2a/lab', rpc('GetTask', { id: 'run_1' })],
    ['AI SDK UI', 'GET', '/ai/lab/chat/run_1/stream'],
    ['AG-UI', 'POST', '/ag-ui/lab', { threadId: 't', runId: 'r', messages }],
    ['MCP', 'POST', '/mcp', rpc('tasks/get', { taskId: 'run_1' })],
    ['console', 'GET', '/console/api/runs'],
  ]
  for (const [protocol, method, path, body] of requests) {
    const answer = await call<unknown>(server, method, path, {
      ...(body && { body }),
      headers: { 'a2a-version': '1.0' },
    })
    const text = JSON.stringify(answer.body)
    expect(text, protocol).not.toContain('kelp')
    const [, id] = /internal error ([\w-]+)/.exec(text) ?? []
    expect(id, `${protocol}: ${text}`).toMatch(ID)
    const logged = lines.find((line) => line.includes(id!))
    expect(logged, protocol).toContain(RAW)
  }
  const refusal = await new Peer(`127.0.0.1:${grpcPort}`)
    .call('SendMessage', { message: message('text 1') })
    .catch((cause: Error) => cause)
  const [, id] = /internal error ([\w-]+)/.exec((refusal as Error).message) ?? []
  expect(lines.find((line) => line.includes(id ?? 'none'))).toContain(RAW)
})
