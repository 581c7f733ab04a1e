/** Streams that real servers sent (agno 3.1, hermes-agent 0.19, litellm 1.106, FastA2A 2.1, on a scripted model), equal field by field through the gateway. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RemoteRunOutput } from '../../src/agents/remote-agentos/run-output.ts'
import type { RemoteEvent } from '../../src/agents/remote-agentos/wire.ts'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { ComponentKind } from '../../src/core/ports/component.ts'
import { agentosProjection } from '../../src/protocols/agentos/view/projection.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'
import { startA2aServer } from './a2a-server.ts'
import { playing, startChatServer } from './chat-server.ts'
import { framesOf, logged } from './upstream-log.ts'

const folder = join(import.meta.dirname, 'corpus')
const files = readdirSync(folder)

function textOf(file: string): string {
  return readFileSync(join(folder, file), 'utf8')
}

interface SentFrame {
  readonly event?: string
  readonly data: unknown
}

function framesIn(text: string): SentFrame[] {
  return text.split(/\r?\n\r?\n/).flatMap((frame) => {
    const event = /^event: ?(.*)$/m.exec(frame)?.[1]
    const data = /^data: ?(.*)$/m.exec(frame)?.[1]
    if (data === undefined) return []
    return [{ ...(event !== undefined && { event }), data: data === '[DONE]' ? data : (JSON.parse(data) as unknown) }]
  })
}

function kindOf(file: string): ComponentKind {
  return file.includes('team') ? 'team' : file.includes('workflow') ? 'workflow' : 'agent'
}

const agno = files.filter((file) => file.startsWith('agno-'))

test('gateway, corpus: it has streams of agno, hermes-agent and litellm', () => {
  expect(agno.length).toBeGreaterThanOrEqual(6)
  expect(files.length - agno.length).toBeGreaterThanOrEqual(6)
})

test.for(agno)('gateway, corpus: an AgentOS client gets %s as it came, but for event_index', (file) => {
  const sent = framesIn(textOf(file)).map(({ data }) => data as RemoteEvent)
  const run = sent[0]!.run_id!
  const kind = kindOf(file)
  const output = new RemoteRunOutput('id', run, kind)
  const log = sent.flatMap((event) => logged('agentos', event.event, event, output.add(event)))
  const frames = framesOf(
    agentosProjection(() => ({ kind, name: 'c' })),
    'agentos',
    log,
    run,
  )
  const without = ({ event_index: _index, ...fields }: Readonly<Record<string, unknown>>) => fields
  expect(frames.map(({ data }) => without(data))).toEqual(
    sent.map((event) => without(event as unknown as Record<string, unknown>)),
  )
})

async function through(file: string): Promise<SentFrame[]> {
  const chat = await startChatServer({ m: playing(textOf(file)) })
  const server = await serveInProcess({ store: createMemoryStore(), components: [upstream.openai(chat.url)] })
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'm',
      messages: [{ role: 'user', content: 'go' }],
      stream: true,
      stream_options: { include_usage: true },
    }),
  })
  return framesIn(await response.text())
}

const FAILED = /http500|sticky/

const chats = files.filter((file) => !/^(?:agno|fasta2a)-/.test(file))

test.for(chats.filter((file) => !FAILED.test(file)))(
  'gateway, corpus: a chat client gets %s as it came',
  async (file) => {
    expect(await through(file)).toEqual(framesIn(textOf(file)))
  },
)

test.for(chats.filter((file) => FAILED.test(file)))(
  'gateway, corpus: [RUN-3] a chat client gets %s up to its error, and then Holdfast’s error instead of its success',
  async (file) => {
    const sent = framesIn(textOf(file))
    const isContent = ({ data }: SentFrame) => {
      const { choices = [], error } = data as { choices?: { finish_reason?: unknown }[]; error?: unknown }
      return data !== '[DONE]' && error === undefined && choices.every(({ finish_reason: finish }) => !finish)
    }
    const got = await through(file)
    expect(got.filter(isContent)).toEqual(sent.filter(isContent))
    expect(got.at(-1)).toMatchObject({ data: { error: { code: 'upstream_error' } } })
    expect(got).not.toContainEqual({ data: '[DONE]' })
  },
)

test.for(files.filter((file) => file.startsWith('fasta2a-')))(
  'gateway, corpus: an A2A client gets %s as it came, but for ids and the zone of times',
  async (file) => {
    const sent = framesIn(textOf(file)).map(({ data }) => (data as { result: object }).result)
    const agent = await startA2aServer('1.0', [sent])
    const server = await serveInProcess({ store: createMemoryStore(), components: [upstream.a2a(agent.url)] })
    await expect.poll(async () => (await fetch(`${server.url}/a2a/odd/.well-known/agent-card.json`)).status).toBe(200)
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
    const response = await fetch(`${server.url}/a2a/odd`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }),
    })
    const got = framesIn(await response.text()).map(({ data }) => (data as { result: object }).result)
    const idsOf = ([first]: object[]) => (first as { task: { id: string; contextId: string } }).task
    const [theirs, ours] = [idsOf(sent), idsOf(got)]
    const expected = JSON.stringify(sent)
      .replaceAll(theirs.id, ours.id)
      .replaceAll(theirs.contextId, ours.contextId)
      .replaceAll(/("timestamp":"[^"Z]+)"/g, '$1Z"')
    expect(got).toEqual(JSON.parse(expected))
  },
)
