/** AG-UI's own client against a real server. */
import { AgentCapabilitiesSchema } from '@ag-ui/core/schemas'
import { describe, expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { HoldfastAgent } from '../../../src/ag-ui/index.ts'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { startFaultProxy } from '../../client/fault-proxy.ts'
import { startServer } from '../../support/process.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { newestLog, newestText, serveChats } from '../ai-sdk/serve.ts'
import { agentAt, record, say, textIn } from './agents.ts'

test('AG-UI: a message starts a run in the session of the thread, and its text is that of the log', async () => {
  const server = await serveChats()
  const client = agentAt(`${server.url}/ag-ui/lab`, 't1')
  const { concluded, subscriber } = record()
  say(client, 'text 5; reason 2; tool look; text 3')
  await client.runAgent({ runId: 'r1' }, subscriber)
  expect(concluded.outcomes).toEqual(['success'])
  expect(textIn(client.messages)).toBe(await newestText(server))
  expect(client.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'reasoning',
    'assistant',
    'tool',
    'assistant',
  ])
  const { runs } = await server.service.list(localPrincipal, { session: 't1' })
  expect(runs).toHaveLength(1)
  expect(runs[0]!.run).toMatchObject({ component: 'lab', protocol: 'ag-ui', metadata: { agUi: { runId: 'r1' } } })
})

test('AG-UI: a second message continues the conversation of the session', async () => {
  const server = await serveChats()
  const client = agentAt(`${server.url}/ag-ui/forecaster`, 't1')
  say(client, 'hello')
  await client.runAgent()
  say(client, 'and again')
  await client.runAgent()
  expect((await newestLog(server))[0]).toMatchObject({ data: { session: 't1', input: 'and again' } })
  expect(client.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  expect(new Set(client.messages.map(({ id }) => id)).size).toBe(client.messages.length)
})

describe('[RUN-3] AG-UI: the client concludes what the log says', () => {
  test.each([
    ['text 2', ['success']],
    ['text 2; throw boom', ['boom']],
    ['text 2; circular', [expect.stringContaining('an object that contains it')]],
    ['text 2; reject not today', ['not today']],
  ])('from %s', async (script, outcomes) => {
    const server = await serveChats()
    const client = agentAt(`${server.url}/ag-ui/lab`, 't1')
    const { concluded, subscriber } = record()
    say(client, script)
    await client.runAgent({}, subscriber)
    expect(concluded.outcomes).toEqual(outcomes)
  })

  test('from a stop, which is cancelled and no success', async () => {
    const server = await serveChats()
    const client = new HoldfastAgent({ url: `${server.url}/ag-ui/lab`, threadId: 't1' })
    const { concluded, subscriber } = record()
    say(client, 'text 3; hang')
    const running = client.runAgent({}, subscriber)
    await until('the client has text', () => textIn(client.messages).includes('[2]'))
    expect(await client.stop()).toHaveLength(1)
    await running
    expect(concluded.outcomes).toEqual(['cancelled'])
    expect((await newestLog(server)).at(-1)!.type).toBe('run.cancelled')
  })

  test('from a server that shuts down midway, whose stream fails instead of ending', async () => {
    const server = await serveChats()
    const client = agentAt(`${server.url}/ag-ui/lab`, 't1')
    const { concluded, subscriber } = record()
    say(client, 'text 3; hang')
    const running = client.runAgent({}, subscriber).catch(() => undefined)
    await until('the client has text', () => textIn(client.messages).includes('[2]'))
    await server.close()
    await running
    expect(concluded.outcomes).toEqual([expect.stringMatching(/^failed: /)])
  })
})

describe('[LOG-1] AG-UI: a client that was cut off and sends the same run again', () => {
  test.each([
    'text 40',
    'text 5; reason 20; text 20',
    'tool look 10; text 30',
    'text 5; step a; text 20; step b; text 20',
  ])('has every piece once, wherever it was cut: %s', async (script) => {
    const server = await serveChats()
    for (const bytes of [600, 1500, 3000]) {
      let requests = 0
      const proxy = await startFaultProxy(() => server.url, {
        draw: () => (requests++ === 0 ? { after: { bytes, by: 'cut' } } : {}),
      })
      const client = agentAt(`${proxy.url}/ag-ui/lab`, `thread-${bytes}`)
      const { concluded, subscriber } = record()
      say(client, script)
      await client.runAgent({ runId: 'r1' }, subscriber).catch(() => undefined)
      expect(concluded.outcomes).toEqual([expect.stringMatching(/^failed: /)])
      await client.runAgent({ runId: 'r1' }, subscriber)
      expect(concluded.outcomes.at(-1)).toBe('success')
      expect(textIn(client.messages)).toBe(await newestText(server))
      const { runs } = await server.service.list(localPrincipal, { session: `thread-${bytes}` })
      expect(runs).toHaveLength(1)
    }
  })

  test('changes nothing when it sends the run again after its end', async () => {
    const server = await serveChats()
    const client = agentAt(`${server.url}/ag-ui/lab`, 't1')
    say(client, 'text 10; tool look; text 3')
    await client.runAgent({ runId: 'r1' })
    const before = structuredClone(client.messages)
    const { concluded, subscriber } = record()
    await client.runAgent({ runId: 'r1' }, subscriber)
    expect(client.messages).toEqual(before)
    expect(concluded.outcomes).toEqual(['success'])
  })

  test('continues after the server was killed and restarted', async () => {
    const store = temporaryDatabase()
    const first = await startServer({ store })
    const { port } = new URL(first.url)
    const client = agentAt(`${first.url}/ag-ui/lab-resume`, 't1')
    const { concluded, subscriber } = record()
    say(client, 'text 60 every 30; text 20')
    const running = client.runAgent({ runId: 'r1' }, subscriber).catch(() => undefined)
    await until('the client has text', () => textIn(client.messages).includes('[5]'))
    await first.kill()
    await running
    expect(concluded.outcomes).toEqual([expect.stringMatching(/^failed: /)])
    await startServer({ store, args: ['--port', port] })
    await client.runAgent({ runId: 'r1' }, subscriber)
    expect(concluded.outcomes.at(-1)).toBe('success')
    const words = textIn(client.messages).match(/\[\d+\]/g)!
    expect(words).toHaveLength(80)
    expect(new Set(words.slice(0, 60)).size).toBe(60)
  })
})

describe('AG-UI: a run that asks', () => {
  test('ends with interrupts, and the next run answers them', async () => {
    const server = await serveChats()
    const client = agentAt(`${server.url}/ag-ui/lab`, 't1')
    const { concluded, subscriber } = record()
    say(client, 'say before; ask Which town?; say after')
    await client.runAgent({}, subscriber)
    expect(concluded.interrupts).toMatchObject([{ reason: 'input', message: 'Which town?' }])
    const resume = [{ interruptId: concluded.interrupts[0]!.id, status: 'resolved' as const, payload: 'Rome' }]
    await client.runAgent({ resume }, subscriber)
    expect(concluded.outcomes).toEqual(['interrupt', 'success'])
    expect((await server.service.list(localPrincipal)).runs).toHaveLength(1)
    expect(textIn(client.messages)).toBe(await newestText(server))
  })

  test('for an approval names the call, and a denial is told to the agent', async () => {
    const server = await serveChats()
    const client = agentAt(`${server.url}/ag-ui/clerk`, 't1')
    const { concluded, subscriber } = record()
    say(client, 'send 25 to Ada')
    await client.runAgent({}, subscriber)
    const [interrupt] = concluded.interrupts
    expect(interrupt).toMatchObject({ reason: 'tool_approval', message: 'May send be called?' })
    const calls = client.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    expect(calls.find(({ id }) => id === interrupt!.toolCallId)?.function).toEqual({
      name: 'send',
      arguments: '{"to":"Ada","amount":25}',
    })
    await client.runAgent({ resume: [{ interruptId: interrupt!.id, status: 'cancelled' }] }, subscriber)
    expect(textIn(client.messages)).toContain('I have sent nothing.')
  })

  test('is answered once when two clients answer, and both get the rest', async () => {
    const server = await serveChats()
    const client = agentAt(`${server.url}/ag-ui/clerk`, 't1')
    const { concluded, subscriber } = record()
    say(client, 'send 25 to Ada')
    await client.runAgent({}, subscriber)
    const resume = [{ interruptId: concluded.interrupts[0]!.id, status: 'resolved' as const, payload: true }]
    const other = agentAt(`${server.url}/ag-ui/clerk`, 't1', client.messages)
    await Promise.all([client.runAgent({ resume }, subscriber), other.runAgent({ resume }, subscriber)])
    expect(textIn(client.messages)).toBe(await newestText(server))
    expect(other.messages).toEqual(client.messages)
    expect((await newestLog(server)).filter(({ type }) => type === 'run.resumed')).toHaveLength(1)
  })

  test('for a tool of its client continues with the result, which is shown once', async () => {
    const server = await serveChats()
    const client = agentAt(`${server.url}/ag-ui/forecaster`, 't1')
    const { concluded, subscriber } = record()
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const tools = [{ name: 'weather', description: 'The weather in a city', parameters }]
    say(client, 'Rome and Oslo')
    await client.runAgent({ tools }, subscriber)
    expect(concluded.pendingToolCallIds).toHaveLength(2)
    for (const [index, toolCallId] of concluded.pendingToolCallIds.entries())
      client.addMessage({ id: `result-${index}`, role: 'tool', toolCallId, content: ['sunny', 'grey'][index]! })
    await client.runAgent({ tools }, subscriber)
    expect(concluded.outcomes).toEqual(['success', 'success'])
    expect(textIn(client.messages)).toContain('It is sunny. It is grey.')
    expect(client.messages.filter(({ role }) => role === 'tool').map(({ id }) => id)).toEqual(['result-0', 'result-1'])
    expect((await server.service.list(localPrincipal)).runs).toHaveLength(1)
  })

  test('refuses an answer after its question was answered', async () => {
    const server = await serveChats()
    const client = agentAt(`${server.url}/ag-ui/lab`, 't1')
    say(client, 'text 1')
    await client.runAgent()
    const { runs } = await server.service.list(localPrincipal)
    const { subscriber } = record()
    const resume = [{ interruptId: `${runs[0]!.run.id}:q1`, status: 'resolved' as const, payload: 1 }]
    await expect(client.runAgent({ resume }, subscriber)).rejects.toThrow('does not answer an open question')
  })
})

describe('AG-UI: a page that has nothing', () => {
  test('connects to the thread: earlier messages, what is open, and the rest', async () => {
    const server = await serveChats()
    const url = `${server.url}/ag-ui/lab`
    const first = new HoldfastAgent({ url, threadId: 't1' })
    const { subscriber } = record()
    say(first, 'text 3')
    await first.runAgent({}, subscriber)
    say(first, 'text 20; ask Go on?; text 3')
    await first.runAgent({}, subscriber)
    const second = new HoldfastAgent({ url, threadId: 't1' })
    const { concluded, subscriber: other } = record()
    await second.connectAgent({}, other)
    expect(concluded.outcomes).toEqual(['interrupt'])
    expect(second.messages).toEqual(first.messages)
    const resume = [{ interruptId: concluded.interrupts[0]!.id, status: 'resolved' as const, payload: 'yes' }]
    await second.runAgent({ resume }, other)
    expect(concluded.outcomes.at(-1)).toBe('success')
    const third = new HoldfastAgent({ url, threadId: 't1' })
    await third.connectAgent({}, other)
    expect(third.messages).toEqual(second.messages)
  })

  test('connects to a thread without runs, and has nothing', async () => {
    const server = await serveChats()
    const client = new HoldfastAgent({ url: `${server.url}/ag-ui/lab`, threadId: 'none' })
    const { concluded, subscriber } = record()
    await client.connectAgent({}, subscriber)
    expect(client.messages).toEqual([])
    expect(concluded.outcomes).toEqual([])
  })
})

test('AG-UI: output that is retracted disappears from the client', async () => {
  const hesitant = agent<unknown>({
    id: 'hesitant',
    async *run(_input, { stage }) {
      yield 'kept '
      for (const attempt of [1, 2])
        await stage('draft', async function* () {
          yield `draft ${attempt} `
          if (attempt === 1) throw new Error('again')
        }).catch(() => undefined)
    },
  })
  const server = await serveChats({ components: [hesitant] })
  const client = agentAt(`${server.url}/ag-ui/hesitant`, 't1')
  const { concluded, subscriber } = record()
  const seen: string[] = []
  say(client, 'go')
  await client.runAgent({}, { ...subscriber, onMessagesChanged: ({ messages }) => void seen.push(textIn(messages)) })
  expect(seen).toContain('kept draft 1 ')
  expect(textIn(client.messages)).toBe('kept draft 2 ')
  expect(textIn(client.messages)).toBe(await newestText(server))
  expect(concluded.outcomes).toEqual(['success'])
  expect(client.messages[0]).toMatchObject({ role: 'user', content: 'go' })
})

test('AG-UI: an event id resumes the raw stream exactly after it', async () => {
  const server = await serveChats()
  const client = agentAt(`${server.url}/ag-ui/lab`, 't1')
  say(client, 'text 10; tool look; text 3')
  await client.runAgent()
  const { runs } = await server.service.list(localPrincipal)
  const events = `${server.url}/ag-ui/lab/runs/${runs[0]!.run.id}/events`
  const whole = (await (await fetch(events)).text()).split('\n\n')
  const ids = whole.flatMap((event) => /^id: (\d+)$/m.exec(event)?.[1] ?? [])
  expect(ids).toEqual(ids.map((_, index) => String(index)))
  for (const id of ids.slice(0, -1)) {
    const rest = (await (await fetch(events, { headers: { 'last-event-id': id } })).text()).split('\n\n')
    expect(rest.slice(1)).toEqual(whole.slice(Number(id) + 2))
  }
  expect((await fetch(events, { headers: { 'last-event-id': ids.at(-1)! } })).status).toBe(204)
  const beyond = await fetch(events, { headers: { 'last-event-id': '999' } })
  expect(beyond.status).toBe(400)
  expect(await beyond.json()).toMatchObject({ type: 'RUN_ERROR', code: 'cursor_invalid' })
})

test('AG-UI: capabilities are valid and say that streams can be resumed', async () => {
  const server = await serveChats()
  const client = new HoldfastAgent({ url: `${server.url}/ag-ui/lab-team` })
  const capabilities = AgentCapabilitiesSchema.parse(await client.getCapabilities())
  expect(capabilities.transport?.resumable).toBe(true)
})

describe('AG-UI: an invalid request is refused with the reason', () => {
  test.each([
    ['{}', 'threadId: '],
    ['[', 'the body is not JSON'],
    ['{"threadId":"t","runId":"r","messages":[]}', 'the request has no messages'],
    ['{"threadId":"t","runId":"r","messages":[{"id":"1","role":"nobody"}]}', 'messages.0.role: '],
    [
      '{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":[{"type":"image"}]}]}',
      'a part must have a text or a source',
    ],
    [
      '{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"x","status":"resolved"}]}',
      'resume: interruptId must be the id of an interrupt',
    ],
    [
      `{"threadId":"t","runId":"r","state":{"a":"${'x'.repeat(33_000)}"},"messages":[{"id":"1","role":"user","content":"hi"}]}`,
      'state and forwardedProps have more than',
    ],
  ])('such as %s', async (body, reason) => {
    const server = await serveChats()
    const response = await fetch(`${server.url}/ag-ui/lab`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.status).toBeLessThan(500)
    expect(await response.json()).toMatchObject({
      type: 'RUN_ERROR',
      message: expect.stringContaining(reason) as string,
    })
    expect((await server.service.list(localPrincipal)).runs).toEqual([])
  })
})
