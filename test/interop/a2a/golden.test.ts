/**
 * Row 7 of the matrix: raw HTTP against our server, byte for byte. Each file in `golden` is a reviewed conversation; a changed byte is a
 * change of the wire format.
 */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import type { Ids } from '../../../src/core/ports/clock.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { parrot } from '../../protocols/a2a/serve.ts'

/** Behaves as its message requests; its output depends on nothing else. */
const runWriter = agent<unknown>({
  id: 'runWriter',
  name: 'Scribe',
  description: 'Writes things down.',
  async *run(input, context) {
    if (input === 'fail') throw new Error('no ink')
    if (input === 'reject') return context.reject('not for me')
    if (input === 'ask') yield `noted: ${String(await context.ask({ prompt: 'In which colour?' }))}`
    if (input === 'facts')
      yield {
        type: 'artifact.added',
        data: { artifact: 'facts', mediaType: 'application/json', value: { found: [1, null, 'é'] } },
      }
    if (input === 'write') {
      yield 'Hel'
      yield 'lo, 世界 🙂\u2028'
    }
  },
})

interface Exchange {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent unchanged if it is a text. */
  readonly body?: object | string
}

const V1 = { 'A2A-Version': '1.0' }
const JSON_BODY = { 'Content-Type': 'application/json' }

const rpc = (method: string, params: object, path = '/a2a/runWriter'): Exchange => ({
  path,
  headers: /^[A-Z]/.test(method) ? V1 : {},
  body: { jsonrpc: '2.0', id: 1, method, params },
})

const rest = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Exchange => ({
  method,
  path: `/a2a/runWriter${path}`,
  headers: path.startsWith('/v1') ? {} : V1,
  ...(body !== undefined && { body }),
})

const message = (text: string, more: object = {}): object => ({
  message: { messageId: `m-${text}`, role: 'ROLE_USER', parts: [{ text }], ...more },
})

const kinds = (text: string, more: object = {}): object => ({
  message: { kind: 'message', messageId: `m-${text}`, role: 'user', parts: [{ kind: 'text', text }], ...more },
  configuration: { blocking: true },
})

const proto = (text: string, more: object = {}): object => ({
  message: { messageId: `m-${text}`, role: 'ROLE_USER', content: [{ text }], ...more },
  configuration: { blocking: true },
})

const RUN = 'run_1'
const card = '/a2a/runWriter/.well-known/agent-card.json'

const conversations: Readonly<Record<string, readonly Exchange[]>> = {
  'card-1.0': [{ method: 'GET', path: card, headers: V1 }],
  'card-0.3': [{ method: 'GET', path: card, headers: { 'A2A-Version': '0.3' } }],
  'card-unversioned': [{ method: 'GET', path: card }],
  'jsonrpc-1.0-send': [
    rpc('SendMessage', message('write')),
    rpc('GetTask', { id: RUN, historyLength: 0 }),
    rpc('ListTasks', {}),
    rpc('CancelTask', { id: RUN }),
    rpc('SubscribeToTask', { id: RUN }),
  ],
  'jsonrpc-1.0-stream': [rpc('SendStreamingMessage', message('write'))],
  'jsonrpc-1.0-data': [rpc('SendStreamingMessage', message('facts'))],
  'jsonrpc-1.0-resume': [
    {
      ...rpc('SendStreamingMessage', message('write')),
      headers: { ...V1, 'A2A-Extensions': 'https://holdfast.dev/a2a/extensions/resume/v1' },
    },
    {
      ...rpc('SubscribeToTask', { id: RUN }),
      headers: { ...V1, 'A2A-Extensions': 'https://holdfast.dev/a2a/extensions/resume/v1', 'Last-Event-ID': '3' },
    },
  ],
  'jsonrpc-1.0-turns': [
    rpc('SendStreamingMessage', message('ask')),
    rpc('SendStreamingMessage', message('blue', { taskId: RUN })),
    rpc('GetTask', { id: RUN }),
  ],
  'jsonrpc-1.0-ends': [rpc('SendStreamingMessage', message('fail')), rpc('SendStreamingMessage', message('reject'))],
  'jsonrpc-1.0-message': [
    rpc('SendMessage', message('hello'), '/a2a/parrot'),
    rpc('SendStreamingMessage', message('good day'), '/a2a/parrot'),
  ],
  'jsonrpc-1.0-push': [
    rpc('SendMessage', message('ask')),
    rpc('CreateTaskPushNotificationConfig', { taskId: RUN, id: 'hook', url: 'https://example.com/hook', token: 't' }),
    rpc('GetTaskPushNotificationConfig', { taskId: RUN, id: 'hook' }),
    rpc('ListTaskPushNotificationConfigs', { taskId: RUN }),
    rpc('DeleteTaskPushNotificationConfig', { taskId: RUN, id: 'hook' }),
    rpc('GetTaskPushNotificationConfig', { taskId: RUN, id: 'hook' }),
  ],
  'jsonrpc-1.0-errors': [
    { path: '/a2a/runWriter', headers: V1, body: '{"jsonrpc":' },
    { path: '/a2a/runWriter', headers: V1, body: { jsonrpc: '1.0', id: 1, method: 'GetTask' } },
    rpc('NoSuchMethod', {}),
    rpc('SendMessage', { message: { messageId: '', role: 'ROLE_USER', parts: [] } }),
    rpc('GetTask', { id: 'nowhere' }),
    rpc('GetExtendedAgentCard', {}),
    { ...rpc('GetTask', { id: 'nowhere' }), headers: {} },
    { ...rpc('GetTask', { id: 'nowhere' }), headers: { 'A2A-Version': '2.0' } },
    { ...rpc('GetTask', { id: 'nowhere' }), headers: { 'A2A-Version': '1.0.7' } },
  ],
  'rest-1.0-send': [
    rest('POST', '/message:send', message('write')),
    rest('GET', `/tasks/${RUN}?historyLength=0`),
    rest('GET', '/tasks?pageSize=1'),
    rest('POST', `/tasks/${RUN}:cancel`, {}),
    rest('GET', `/tasks/${RUN}:subscribe`),
    { ...rest('GET', `/tasks/${RUN}?historyLength=0`), headers: { ...V1, Accept: 'application/a2a+json' } },
  ],
  'rest-1.0-stream': [rest('POST', '/message:stream', message('write'))],
  'rest-1.0-errors': [
    rest('POST', '/message:send', { message: { messageId: '', role: 'ROLE_USER', parts: [] } }),
    rest('GET', '/tasks/nowhere'),
    rest('GET', '/extendedAgentCard'),
    { ...rest('GET', '/tasks/nowhere'), headers: {} },
    rest('GET', '/tasks?pageSize=0'),
  ],
  'jsonrpc-0.3-send': [
    rpc('message/send', kinds('write')),
    rpc('tasks/get', { id: RUN, historyLength: 1 }),
    rpc('tasks/cancel', { id: RUN }),
  ],
  'jsonrpc-0.3-stream': [rpc('message/stream', kinds('write'))],
  'jsonrpc-0.3-data': [rpc('message/send', kinds('facts'))],
  'jsonrpc-0.3-turns': [
    rpc('message/stream', kinds('ask')),
    rpc('message/stream', kinds('blue', { taskId: RUN })),
    rpc('tasks/get', { id: RUN }),
  ],
  'jsonrpc-0.3-ends': [rpc('message/stream', kinds('fail')), rpc('message/stream', kinds('reject'))],
  'jsonrpc-0.3-message': [rpc('message/send', kinds('hello'), '/a2a/parrot')],
  'jsonrpc-0.3-push': [
    rpc('message/send', kinds('ask')),
    rpc('tasks/pushNotificationConfig/set', {
      taskId: RUN,
      pushNotificationConfig: { id: 'hook', url: 'https://example.com/hook', token: 't' },
    }),
    rpc('tasks/pushNotificationConfig/list', { id: RUN }),
    rpc('tasks/pushNotificationConfig/delete', { id: RUN, pushNotificationConfigId: 'hook' }),
  ],
  'jsonrpc-0.3-errors': [
    rpc('no/such-method', {}),
    rpc('message/send', { message: { messageId: '', role: 'user', parts: [] } }),
    rpc('tasks/get', { id: 'nowhere' }),
    rpc('tasks/resubscribe', { id: 'nowhere' }),
    rpc('agent/getAuthenticatedExtendedCard', {}),
  ],
  'rest-0.3-send': [
    rest('POST', '/v1/message:send', proto('write')),
    rest('GET', `/v1/tasks/${RUN}`),
    rest('POST', `/v1/tasks/${RUN}:cancel`, {}),
  ],
  'rest-0.3-stream': [rest('POST', '/v1/message:stream', proto('write'))],
  'rest-0.3-errors': [
    rest('POST', '/v1/message:send', { message: { messageId: '', role: 'ROLE_USER', content: [] } }),
    rest('GET', '/v1/tasks/nowhere'),
  ],
}

/** A server with a fixed clock and numbered ids. */
async function serve(): Promise<string> {
  const count = (prefix: string): (() => string) => {
    let last = 0
    return () => `${prefix}_${++last}`
  }
  const ids: Ids = { run: count('run'), session: count('ses'), unique: count('id') }
  const { url } = await serveInProcess({
    components: [runWriter, parrot],
    store: createMemoryStore(),
    clock: { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) },
    ids,
    a2a: {
      url: 'https://agents.example',
      push: { limits: { maxDeliveries: 0 } },
      agents: { runWriter: { version: '1' }, parrot: { version: '1', answersDirectly: true } },
    },
  })
  return url
}

/** Headers that are not of the moment. */
const KEPT = ['cache-control', 'content-type', 'a2a-extensions', 'x-a2a-extensions', 'vary', 'x-accel-buffering']

async function converse(url: string, { method = 'POST', path, headers = {}, body }: Exchange): Promise<string> {
  const sent = { ...(body !== undefined && JSON_BODY), ...headers }
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await fetch(url + path, { method, headers: sent, ...(text !== undefined && { body: text }) })
  const lines = (of: Iterable<readonly [string, string]>): string[] =>
    Array.from(of, ([name, value]) => `${name.toLowerCase()}: ${value}`)
  const kept = KEPT.flatMap((name) => {
    const value = answer.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return [
    ['>>>', `${method} ${path}`, ...lines(Object.entries(sent)), '', text ?? ''].join('\n'),
    ['<<<', String(answer.status), ...lines(kept), '', await answer.text()].join('\n'),
  ].join('\n')
}

describe('row 7: raw HTTP', () => {
  test.each(Object.entries(conversations))('%s, byte for byte', async (name, exchanges) => {
    const url = await serve()
    const seen: string[] = []
    for (const exchange of exchanges) seen.push(await converse(url, exchange))
    await expect(`${seen.join('\n')}\n`).toMatchFileSnapshot(join(import.meta.dirname, 'golden', `${name}.http`))
  })
})
