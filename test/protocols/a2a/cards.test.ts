import { generateKeyPairSync } from 'node:crypto'
import { type AgentCard as OfficialCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import { flattenedVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import type { Authenticator } from '../../../src/core/model/principal.ts'
import { canonical } from '../../../src/protocols/a2a/wire/signing.ts'
import type { AgentCard, AgentInterface } from '../../../src/protocols/a2a/wire/wire.ts'
import { Peer } from './peer.ts'
import { current, message, rpc, serveA2a } from './serve.ts'

async function cardAt(url: string, headers: Record<string, string> = { 'a2a-version': '1.0' }): Promise<AgentCard> {
  return (await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).json()) as AgentCard
}

test('A2A: every component has a card, and the server serves the card of the default component', async () => {
  const server = await serveA2a({ a2a: { defaultComponent: 'echo' } })
  for (const { id } of server.service.components()) expect((await cardAt(server.agent(id))).skills[0]!.id).toBe(id)
  expect(await cardAt(server.url)).toEqual(await cardAt(server.agent('echo')))
  const first = await serveA2a()
  expect((await cardAt(first.url)).skills[0]!.id).toBe(first.service.components()[0]!.id)
})

test('A2A: the agents of the page at /docs are listed fifty at a time, without omissions', async () => {
  const components = Array.from({ length: 120 }, (_, at) => agent({ id: `agent-${at}`, async *run() {} }))
  const server = await serveA2a({ components })
  const seen: string[] = []
  const sizes: number[] = []
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const response = await fetch(`${server.url}/docs/agents?offset=${offset}`)
    const page = (await response.json()) as { readonly agents: AgentCard[]; readonly next?: number }
    seen.push(...page.agents.map(({ skills }) => skills[0]!.id))
    sizes.push(page.agents.length)
    offset = page.next
  }
  expect(seen).toEqual(server.service.components().map(({ id }) => id))
  expect(Math.max(...sizes)).toBe(50)
  expect((await fetch(`${server.url}/docs/agents?offset=-1`)).status).toBe(400)
})

describe('[O-16] A2A: streaming is on the card and needs no opt-in', () => {
  const bindings = ['JSONRPC 1.0', 'HTTP+JSON 1.0', 'JSONRPC 0.3', 'HTTP+JSON 0.3', 'GRPC 1.0', 'GRPC 0.3']

  test('the cards name every binding and version that is tested here', async () => {
    const server = await serveA2a({ a2a: { defaultComponent: 'lab', grpcPort: 0 } })
    const { capabilities, supportedInterfaces } = await cardAt(server.agent())
    expect(capabilities.streaming).toBe(true)
    expect(supportedInterfaces.map(bindingOf).toSorted()).toEqual(bindings.toSorted())
  })

  test.each(bindings)('every component streams over %s', async (binding) => {
    const server = await serveA2a({ a2a: { defaultComponent: 'lab', grpcPort: 0 } })
    const components = server.service.components().filter(({ id }) => id !== 'single') // which never ends by itself
    let streamed = 0
    for (const { id } of components) {
      const { capabilities, supportedInterfaces } = await cardAt(server.agent(id))
      expect(capabilities.streaming).toBe(true)
      for (const named of supportedInterfaces.filter((each) => bindingOf(each) === binding)) {
        expect(await streamOver(named), id).toMatch(OUTCOME)
        streamed++
      }
    }
    // Over gRPC, 0.3 cannot say which component is meant.
    expect(streamed).toBe(binding === 'GRPC 0.3' ? 1 : components.length)
  })
})

function bindingOf({ protocolBinding, protocolVersion }: AgentInterface): string {
  return `${protocolBinding} ${protocolVersion}`
}

/** Text of a stream until the outcome of its task is known: an open stream alone proves nothing. */
async function streamOver(named: AgentInterface): Promise<string> {
  let text = ''
  for await (const piece of named.protocolBinding === 'GRPC' ? grpcStream(named) : await httpStream(named)) {
    text += piece
    if (OUTCOME.test(text)) break
  }
  return text
}

async function* grpcStream({ url, protocolVersion, tenant }: AgentInterface): AsyncGenerator<string> {
  const output = message('ask Go on?')
  const request =
    protocolVersion === '0.3'
      ? { message: { messageId: output.messageId, role: 'ROLE_USER', content: output['parts'] } }
      : { message: output, ...(tenant !== undefined && { tenant }) }
  const peer = new Peer(url, protocolVersion === '0.3' ? '0.3' : '1.0')
  for await (const reply of peer.stream('SendStreamingMessage', request)) yield JSON.stringify(reply)
}

async function httpStream({ url, protocolBinding, protocolVersion }: AgentInterface): Promise<ReadableStream<string>> {
  const isLegacy = protocolVersion === '0.3'
  const output = message('ask Go on?')
  const legacy = { ...output, kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'ask Go on?' }] }
  const params = { message: isLegacy && protocolBinding === 'JSONRPC' ? legacy : output }
  const method = isLegacy ? 'message/stream' : 'SendStreamingMessage'
  const isRest = protocolBinding === 'HTTP+JSON'
  const path = isRest ? `${isLegacy ? '/v1' : ''}/message:stream` : ''
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': protocolVersion },
    body: JSON.stringify(isRest ? params : { jsonrpc: '2.0', id: 1, method, params }),
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  return response.body!.pipeThrough(new TextDecoderStream())
}

/** A state in which a task waits or has ended, in either version, or the message of an agent without tasks. */
const OUTCOME =
  /(TASK_STATE_)?(COMPLETED|completed|INPUT_REQUIRED|input-required|AUTH_REQUIRED|auth-required)"|"role":"(ROLE_AGENT|agent)"/

test('A2A: without a version header the card is readable by both versions', async () => {
  const server = await serveA2a()
  const both = await cardAt(server.url, {})
  const url = both.supportedInterfaces[0]!.url
  expect(both).toMatchObject({
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ transport: 'JSONRPC' }, { transport: 'HTTP+JSON' }],
    supportedInterfaces: [
      { protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
    ],
  })
  expect(await cardAt(server.url)).not.toHaveProperty('url')
  expect((await fetch(`${server.url}/.well-known/agent-card.json`)).headers.get('vary')).toContain('A2A-Version')
})

test('A2A: a card can be cached and revalidated', async () => {
  const server = await serveA2a()
  const path = `${server.url}/.well-known/agent-card.json`
  const { headers } = await fetch(path)
  expect(headers.get('cache-control')).toMatch(/max-age=\d+/)
  expect(Date.parse(headers.get('last-modified')!)).not.toBeNaN()
  const again = await fetch(path, { headers: { 'if-none-match': headers.get('etag')! } })
  expect(again.status).toBe(304)
})

/** Of a server that signs its cards. */
const PUBLIC_URL = 'https://agents.example'

test('A2A: a server that would sign a card for any requested host is rejected', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signer = { key: privateKey, alg: 'ES256', kid: 'key-1' }
  await expect(serveA2a({ a2a: { signer } })).rejects.toThrow('a2a.signer needs a2a.url')
})

test('A2A: a signed card verifies with its key, and fails verification when changed', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const server = await serveA2a({ a2a: { signer: { key: privateKey, alg: 'ES256', kid: 'key-1' }, url: PUBLIC_URL } })
  const { signatures, ...card } = await cardAt(server.url)
  const [signed] = signatures!
  const verify = (payload: object) =>
    flattenedVerify({ ...signed!, payload: Buffer.from(canonical(payload)).toString('base64url') }, publicKey)
  expect((await verify(card)).protectedHeader).toEqual({ alg: 'ES256', kid: 'key-1', typ: 'JOSE' })
  await expect(verify({ ...card, name: 'another' })).rejects.toThrow('signature')
})

test('A2A: the official SDK verifies the signature, also of the card for both versions', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const skill = { id: 's', name: 'skill', description: 'does it', tags: ['x'], examples: [] }
  const agents = {
    lab: { skills: [skill], extensions: [{ uri: 'https://example.com/x', params: { b: 1, a: [true] } }] },
  }
  const auth = { securityKey: 'a-key-that-is-long-enough' }
  const signer = { key: privateKey, alg: 'ES256', kid: 'key-1' }
  const server = await serveA2a({ auth, a2a: { signer, agents, url: PUBLIC_URL } })
  const verifier = verifyAgentCardSignature(() => Promise.resolve(publicKey))
  for (const headers of [{ 'a2a-version': '1.0' }, {}]) {
    const card = (await cardAt(server.agent(), headers)) as unknown as OfficialCard
    await expect(verifier(card)).resolves.toBeUndefined()
    await expect(verifier({ ...card, name: 'another' })).rejects.toThrow(/signature/i)
  }
})

describe('A2A with authentication', () => {
  const key = 'a-key-that-is-long-enough'
  const authorization = { authorization: `Bearer ${key}` }

  test('the card names the scheme and is public, and authenticated callers get an extended card', async () => {
    const auth = { securityKey: key }
    const server = await serveA2a({ auth })
    const card = await cardAt(server.agent())
    expect(card).toMatchObject({
      capabilities: { extendedAgentCard: true },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { bearer: {} } }],
    })
    expect((await fetch(`${server.agent()}/extendedAgentCard`, { headers: current })).status).toBe(401)
    const extended = (await (
      await fetch(`${server.agent()}/extendedAgentCard`, { headers: { ...current, ...authorization } })
    ).json()) as AgentCard
    expect(extended.skills[0]!.tags).toContain('recovery:fail')
    const byRpc = await rpc(server.agent(), 'GetExtendedAgentCard', undefined, authorization)
    expect(byRpc.result).toEqual(extended)
  })

  test('[SEC-1] another principal’s task does not exist for any operation', async () => {
    const people: Record<string, string> = { ada: 'ada', bob: 'bob' }
    const auth: Authenticator = {
      scheme: 'keys',
      authenticate: ({ bearer = '' }) => Promise.resolve({ id: people[bearer]! }),
    }
    const server = await serveA2a({ auth })
    const as = (who: string) => ({ authorization: `Bearer ${who}` })
    const { result } = await rpc(server.agent(), 'SendMessage', { message: message('ask Go?') }, as('ada'))
    const { id } = (result as { task: { id: string } }).task
    const config = { taskId: id, id: 'c', url: 'https://example.com' }
    expect((await rpc(server.agent(), 'CreateTaskPushNotificationConfig', config, as('ada'))).error).toBeUndefined()
    for (const [method, params] of [
      ['GetTask', { id }],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }],
      ['SendMessage', { message: message('x', { taskId: id }) }],
      ['CreateTaskPushNotificationConfig', config],
      ['GetTaskPushNotificationConfig', config],
      ['ListTaskPushNotificationConfigs', config],
      ['DeleteTaskPushNotificationConfig', config],
    ] as const)
      expect((await rpc(server.agent(), method, params, as('bob'))).error?.code, method).toBe(-32001)
    expect((await rpc(server.agent(), 'ListTasks', {}, as('bob'))).result).toMatchObject({ totalSize: 0 })
    expect((await rpc(server.agent(), 'GetTask', { id }, as('ada'))).result).toMatchObject({ id })
  })
})

test('A2A: extensions that client and agent share are active, and a required extension must be named', async () => {
  const uri = 'https://example.com/audit/v1'
  const server = await serveA2a({ a2a: { agents: { lab: { extensions: [{ uri, required: true }] } } } })
  const sent = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: message('text 1') } }
  expect((await rpc(server.agent(), 'SendMessage', sent.params)).error?.code).toBe(-32008)
  const response = await fetch(server.agent(), {
    method: 'POST',
    headers: { ...current, 'a2a-extensions': `https://example.com/unknown, ${uri}` },
    body: JSON.stringify(sent),
  })
  expect(response.headers.get('a2a-extensions')).toBe(uri)
  expect(await response.json()).toHaveProperty('result.task')
})
