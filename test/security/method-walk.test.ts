/** Every method of JSON-RPC and gRPC, of both versions of A2A, and every WebSocket, with every kind of credential. */
import { status as codes } from '@grpc/grpc-js'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { current, legacy } from '../../src/a2a/grpc/schema.ts'
import { toMessageId } from '../../src/ai-sdk/ids.ts'
import { methods } from '../../src/protocols/a2a/requests/methods.ts'
import { toResponseId } from '../../src/protocols/openai/wire/ids.ts'
import { Peer } from '../protocols/a2a/peer.ts'
import { message } from '../protocols/a2a/serve.ts'
import { getRun, startRun, type Target, untilStatus } from '../support/http.ts'
import { until } from '../support/until.ts'
import { type Caller, openWorld, SECRET, strangers, type World } from './world.ts'

/** Share links are for the native protocol alone. */
const unknown: readonly Caller[] = [...strangers, 'share link']
const everybody: readonly Caller[] = [...unknown, 'bob', 'other tenant', 'reader']

/** Methods that change nothing. */
const READING = /^(Get|List|SubscribeToTask|TaskSubscription)/

/** Methods that concern no owned run. */
const ABOUT_NOBODY = /AgentCard$|^(SendMessage|SendStreamingMessage|ListTasks)$/

const webhook = { id: 'hook', url: 'https://example.com/hook' }

async function pausedRun({ server, token }: World): Promise<string> {
  const alice: Target = { url: server.url, token: token('alice')! }
  const { id } = await startRun(alice, `say ${SECRET}; ask Go on?`)
  await untilStatus(alice, id, ['paused'])
  return id
}

/** Undefined where the call is allowed. */
type Refusal = string | undefined

function expected(caller: Caller, name: string): readonly Refusal[] {
  if (unknown.includes(caller)) return ['UNAUTHENTICATED']
  if (caller === 'reader') return READING.test(name) ? [undefined] : ['PERMISSION_DENIED']
  return ABOUT_NOBODY.test(name) ? [undefined] : ['NOT_FOUND']
}

/** Calls every method as every caller, and returns unexpected results. */
async function walk(
  world: World,
  names: readonly string[],
  ask: (caller: Caller, name: string, run: string) => Promise<{ readonly refusal: Refusal; readonly text: string }>,
): Promise<string[]> {
  const wrong: string[] = []
  const alice: Target = { url: world.server.url, token: world.token('alice')! }
  for (const name of names) {
    const run = await pausedRun(world)
    const before = await getRun(alice, run)
    for (const caller of everybody) {
      const { refusal, text } = await ask(caller, name, run)
      if (!expected(caller, name).includes(refusal))
        wrong.push(`${name} by ${caller}: ${refusal ?? 'allowed'} ${text.slice(0, 200)}`)
      if (caller !== 'reader' && text.includes(SECRET)) wrong.push(`${name} shows ${caller} what is alice's`)
    }
    if (JSON.stringify(await getRun(alice, run)) !== JSON.stringify(before))
      wrong.push(`${name} changed a run of alice`)
  }
  return wrong
}

/** As much of every request as any method of 1.0 takes. */
const params = (run: string, send: boolean): object =>
  send ? { message: message('say kelp'), configuration: { returnImmediately: true } } : { id: run, taskId: run }

function paramsFor(name: string, run: string): object {
  if (name === 'ListTasks' || name.endsWith('AgentCard')) return {}
  if (name === 'CreateTaskPushNotificationConfig') return { taskId: run, ...webhook }
  if (name === 'ListTaskPushNotificationConfigs') return { taskId: run }
  if (name.endsWith('PushNotificationConfig')) return { taskId: run, id: 'hook' }
  if (name.startsWith('Send')) return params(run, true)
  return { id: run }
}

test('[SEC-1] [SEC-2] every JSON-RPC method rejects callers without permission', { timeout: 300_000 }, async () => {
  const world = await openWorld()
  const { url } = world.server
  const wrong = await walk(world, Object.keys(methods), async (caller, name, run) => {
    const bearer = world.token(caller)
    const response = await fetch(`${url}/a2a/lab`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: paramsFor(name, run) }),
      signal: AbortSignal.timeout(60_000),
    })
    const text = await firstOf(response)
    return { refusal: refusalIn(response.status, text), text }
  })
  expect(wrong.filter((problem) => !isUnset(problem))).toEqual([])
})

/** MCP: the status and the code identify the refusal. */
const mcpMethods: Readonly<Record<string, (run: string) => object>> = {
  'tools/call': () => ({ name: 'lab', arguments: { input: 'say kelp' }, task: {} }),
  'tasks/get': (taskId) => ({ taskId }),
  'tasks/result': (taskId) => ({ taskId }),
  'tasks/cancel': (taskId) => ({ taskId }),
}

test('[SEC-1] [SEC-2] every MCP method about a run rejects callers without permission', async () => {
  const world = await openWorld()
  const wrong: string[] = []
  const alice: Target = { url: world.server.url, token: world.token('alice')! }
  for (const [method, paramsOf] of Object.entries(mcpMethods)) {
    const run = await pausedRun(world)
    const before = await getRun(alice, run)
    for (const caller of everybody) {
      const bearer = world.token(caller)
      const response = await fetch(`${world.server.url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: paramsOf(run) }),
      })
      const text = await response.text()
      const isReading = /get|result/.test(method)
      const fits = unknown.includes(caller)
        ? response.status === 401
        : caller === 'reader'
          ? response.status === (isReading ? 200 : 403)
          : method === 'tools/call' || text.includes('"code":"not_found"')
      if (!fits) wrong.push(`${method} by ${caller}: ${response.status} ${text.slice(0, 200)}`)
      if (caller !== 'reader' && text.includes(SECRET)) wrong.push(`${method} shows ${caller} what is alice's`)
    }
    if (JSON.stringify(await getRun(alice, run)) !== JSON.stringify(before)) wrong.push(`${method} changed a run`)
  }
  expect(wrong).toEqual([])
})

/** A reader may request a webhook that does not exist: 404 counts as allowed. */
function isUnset(problem: string): boolean {
  return problem.startsWith('GetTaskPushNotificationConfig by reader: NOT_FOUND')
}

/** The whole answer, or the first events of a stream that stays open. */
async function firstOf(response: Response): Promise<string> {
  if (response.headers.get('content-type')?.includes('text/event-stream') !== true) return response.text()
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('data:')) {
    const { value, done } = await reader.read()
    if (done) break
    text += value
  }
  await reader.cancel()
  return text
}

function refusalIn(status: number, text: string): Refusal {
  if (status === 401) return 'UNAUTHENTICATED'
  if (/"(reason|status)":"?(PERMISSION_DENIED|FORBIDDEN)/i.test(text) || /the credential may not/.test(text))
    return 'PERMISSION_DENIED'
  if (/"code":-32001|NOT_FOUND/.test(text)) return 'NOT_FOUND'
  return /"error"/.test(text) ? text.slice(0, 200) : undefined
}

const legacyRequests: Readonly<Record<string, (run: string) => object>> = {
  SendMessage: () => ({
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', content: [{ text: 'say kelp' }] },
  }),
  SendStreamingMessage: () => ({
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', content: [{ text: 'say kelp' }] },
  }),
  CreateTaskPushNotificationConfig: (run) => ({
    parent: `tasks/${run}`,
    configId: 'hook',
    config: { pushNotificationConfig: webhook },
  }),
  ListTaskPushNotificationConfig: (run) => ({ parent: `tasks/${run}` }),
  GetAgentCard: () => ({}),
}

test.each(['1.0', '0.3'] as const)(
  '[SEC-1] [SEC-2] every gRPC method of A2A %s rejects callers without permission',
  { timeout: 300_000 },
  async (version) => {
    const world = await openWorld()
    const peer = new Peer(world.grpc, version)
    const schema = version === '1.0' ? current : legacy
    const wrong = await walk(world, Object.keys(schema.methods), async (caller, name, run) => {
      const bearer = world.token(caller)
      const headers: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
      const hook = name.includes('PushNotificationConfig') ? '/pushNotificationConfigs/hook' : ''
      const request =
        version === '1.0' ? paramsFor(name, run) : (legacyRequests[name]?.(run) ?? { name: `tasks/${run}${hook}` })
      try {
        const [, response] = schema.methods[name]!
        const reply = response.startsWith('stream ')
          ? await new Promise<unknown>((resolve, reject) => {
              const stream = peer.stream(name, request, headers)
              stream.once('data', (data) => (resolve(data), stream.cancel()))
              stream.on('error', reject)
            })
          : await peer.call(name, request, headers)
        return { refusal: undefined, text: JSON.stringify(reply) }
      } catch (cause) {
        const { code, details } = cause as { readonly code: number; readonly details: string }
        return { refusal: codes[code]!, text: details }
      }
    })
    expect(wrong.filter((problem) => !isUnset(problem))).toEqual([])
  },
)

test('[SEC-1] [SEC-2] every WebSocket rejects commands without permission', { timeout: 300_000 }, async () => {
  const world = await openWorld()
  expect(world.sockets.toSorted()).toEqual([
    '/agents/ws',
    CHAT_SOCKET,
    '/teams/ws',
    PASSED_SOCKET,
    RESPONSES_SOCKET,
    '/workflows/ws',
  ])
  const wrong: string[] = []
  for (const path of world.sockets.filter((each) => each.endsWith('/ws'))) {
    const [, family = ''] = /^\/(\w+)s\/ws$/.exec(path) ?? []
    const component = { agent: 'lab', team: 'lab-team', workflow: 'lab-workflow' }[family]!
    const alice: Target = { url: world.server.url, token: world.token('alice')! }
    const { id: run } = await startRun(alice, `say ${SECRET}; ask Go on?`, { component })
    await untilStatus(alice, run, ['paused'])
    const before = await getRun(alice, run)
    for (const caller of everybody) {
      const commands = [
        ...(caller === 'reader' ? [] : [{ action: 'reconnect', run_id: run, [`${family}_id`]: component }]),
        { action: `continue-${family}`, run_id: run, [`${family}_id`]: component, input: 'yes' },
        ...(caller === 'reader' || unknown.includes(caller)
          ? [{ action: `start-${family}`, [`${family}_id`]: component, message: 'say kelp' }]
          : []),
      ]
      const got = await converse(world, path, world.token(caller), commands)
      if (got.includes(SECRET) || /RunStarted|RunContinued|WorkflowStarted/.test(got))
        wrong.push(`${path} by ${caller}: ${got}`)
    }
    if (JSON.stringify(await getRun(alice, run)) !== JSON.stringify(before))
      wrong.push(`${path} changed a run of alice`)
  }
  expect(wrong).toEqual([])
})

/** Authenticated before it is accepted, unlike the others. */
const CHAT_SOCKET = '/ai/{component}/chat'
const RESPONSES_SOCKET = '/v1/responses'
/** `test/gateway/passed-sockets.test.ts` checks its credentials. */
const PASSED_SOCKET = '/upstream/{name}/{path*}'

test(
  '[SEC-1] [SEC-2] the WebSocket of responses rejects callers without permission',
  { timeout: 300_000 },
  async () => {
    const world = await openWorld()
    const run = await pausedRun(world)
    const alice: Target = { url: world.server.url, token: world.token('alice')! }
    const before = await getRun(alice, run)
    const start = { type: 'response.create', model: 'lab', input: 'say kelp' }
    const resumed = { ...start, previous_response_id: toResponseId({ run, number: 0 }) }
    for (const caller of everybody) {
      const output = await chatSocketSays(world, world.token(caller), resumed, '/v1/responses')
      const end = unknown.includes(caller)
        ? '401'
        : caller === 'reader'
          ? 'may not start'
          : 'previous_response_not_found'
      expect(output, caller).toContain(end)
      expect(output, caller).not.toContain(SECRET)
    }
    expect(await getRun(alice, run)).toEqual(before)
    expect(await chatSocketSays(world, alice.token, start, '/v1/responses')).toContain('kelp')
  },
)

test('[SEC-1] [SEC-2] the WebSocket of a chat rejects callers without permission', { timeout: 300_000 }, async () => {
  const world = await openWorld()
  const run = await pausedRun(world)
  const alice: Target = { url: world.server.url, token: world.token('alice')! }
  const before = await getRun(alice, run)
  const text = { type: 'text', text: 'say kelp' }
  const answer = { type: 'data-holdfast-answer', data: { answer: 'yes' } }
  const about = { requestId: 'r', id: run }
  const resume = { ...about, type: 'resume' }
  const continueRun = {
    ...about,
    type: 'send',
    messages: [{ id: toMessageId({ run, leg: 0 }), role: 'assistant', parts: [answer] }],
  }
  const start = { ...about, id: 'kelp', type: 'send', messages: [{ role: 'user', parts: [text] }] }
  for (const caller of everybody) {
    const requests = caller === 'reader' ? [continueRun, start] : [resume, continueRun]
    for (const request of requests) {
      const output = await chatSocketSays(world, world.token(caller), request)
      const expectedEnd = unknown.includes(caller)
        ? '401'
        : caller === 'reader' && request === start
          ? 'may not start'
          : 'error'
      expect(output, `${caller} ${JSON.stringify(request)}`).toContain(expectedEnd)
      expect(output, caller).not.toContain(SECRET)
    }
  }
  expect(await getRun(alice, run)).toEqual(before)
  expect(await chatSocketSays(world, alice.token, resume)).toContain(SECRET)
})

/** The status that refuses the upgrade, or all messages up to an error or the secret. */
async function chatSocketSays(
  { server }: World,
  token: string | undefined,
  request: object,
  path = '/ai/lab/chat',
): Promise<string> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(server.url.replace('http', 'ws') + path, { headers })
  onTestFinished(() => socket.terminate())
  const got: string[] = []
  socket.on('unexpected-response', (_request, { statusCode }) => got.push(String(statusCode)))
  socket.on('error', () => {})
  socket.on('open', () => socket.send(JSON.stringify(request)))
  socket.on('message', (data) => got.push((data as Buffer).toString()))
  await until('it is answered', () => /^\d+$|"error":\{|"error"|"end"|response.completed/.test(got.at(-1) ?? ''))
  socket.terminate()
  return got.join('\n')
}

/** All messages of a socket in response to these commands, at least one for each. */
async function converse(
  { server }: World,
  path: string,
  token: string | undefined,
  commands: readonly object[],
): Promise<string> {
  const socket = new WebSocket(server.url.replace('http', 'ws') + path)
  onTestFinished(() => socket.terminate())
  const got: string[] = []
  let closed = false
  socket.on('message', (data) => got.push((data as Buffer).toString()))
  socket.on('close', () => (closed = true))
  socket.on('error', () => {})
  await until('it is open', () => got.length > 0)
  const asked = token === undefined ? commands : [{ action: 'authenticate', token }, ...commands]
  for (const command of asked) {
    const before = got.length
    socket.send(JSON.stringify(command))
    await until('it is answered', () => got.length > before || closed)
  }
  socket.terminate()
  return got.join('\n')
}
