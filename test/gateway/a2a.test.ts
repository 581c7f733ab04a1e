/** A2A through the gateway: clients get the agent's updates with all fields, and the real outcome. */
import { expect, test } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'
import { type A2aServer, startA2aServer } from './a2a-server.ts'

type Json = Record<string, unknown>

const IDS = { taskId: 't1', contextId: 'theirs' }

async function gateway(
  version: '1.0' | '0.3',
  ...updates: (readonly object[])[]
): Promise<{ url: string; agent: A2aServer }> {
  const agent = await startA2aServer(version, updates)
  const { url } = await serveInProcess({ store: createMemoryStore(), components: [upstream.a2a(agent.url)] })
  await expect.poll(async () => (await fetch(`${url}/a2a/odd/.well-known/agent-card.json`)).status).toBe(200)
  return { url: `${url}/a2a/odd`, agent }
}

async function call(url: string, version: '1.0' | '0.3', method: string, params: object): Promise<string> {
  const headers = { 'content-type': 'application/json', 'a2a-version': version }
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return response.text()
}

async function stream(url: string, version: '1.0' | '0.3', message: object): Promise<Json[]> {
  const text = await call(url, version, version === '1.0' ? 'SendStreamingMessage' : 'message/stream', { message })
  return text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? [(JSON.parse(line.slice(6)) as Json)['result'] as Json] : []))
}

const hello = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }

const part = { text: 'one', metadata: { tone: 'calm' }, x_part: 1 }
const artifact = {
  artifactId: 'a1',
  name: 'result',
  description: 'the result',
  parts: [part],
  metadata: { score: 0.5 },
  extensions: ['urn:x'],
  x_artifact: [1],
}
const note = { messageId: 'n1', role: 'ROLE_AGENT', parts: [{ text: 'thinking' }], ...IDS, x_message: true }
const output = { messageId: 'h', role: 'ROLE_USER', parts: [{ text: 'hello' }], ...IDS, x_message: 1 }
const played = [
  {
    task: {
      id: 't1',
      contextId: 'theirs',
      status: { state: 'TASK_STATE_SUBMITTED' },
      history: [output],
      metadata: { a: 1 },
      x_task: {},
    },
  },
  { statusUpdate: { ...IDS, status: { state: 'TASK_STATE_WORKING', message: note, x_status: 1 }, metadata: { b: 2 } } },
  { statusUpdate: { ...IDS, status: { state: 'TASK_STATE_WORKING', message: note, x_status: 2 }, metadata: { b: 3 } } },
  { artifactUpdate: { ...IDS, artifact, append: false, metadata: { c: 3 }, x_update: null } },
  {
    artifactUpdate: {
      ...IDS,
      artifact: { artifactId: 'a1', parts: [{ text: ' two' }] },
      append: true,
      lastChunk: true,
    },
  },
  {
    statusUpdate: {
      ...IDS,
      status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-11-16T19:09:57.05', x_end: 1 },
      metadata: { tokens: 5 },
    },
  },
]

/** With the ids of the gateway, and a zone. */
function own(value: unknown, task: string, context: string): unknown {
  const text = JSON.stringify(value)
    .replaceAll('"t1"', JSON.stringify(task))
    .replaceAll('"theirs"', JSON.stringify(context))
  return JSON.parse(text.replaceAll('57.05"', '57.05Z"')) as unknown
}

test('gateway, A2A 1.0: a client gets every update with all fields, and so does one that gets the task', async () => {
  const { url } = await gateway('1.0', played)
  const frames = await stream(url, '1.0', hello)
  const { id, contextId } = frames[0]!['task'] as { id: string; contextId: string }
  expect(id).toMatch(/^run_/)
  expect(frames).toEqual(own(played, id, contextId))
  const { result } = JSON.parse(await call(url, '1.0', 'GetTask', { id })) as { result: Json }
  expect(result).toMatchObject({ metadata: { a: 1 }, x_task: {}, status: { x_end: 1 } })
  expect(result['artifacts']).toEqual([{ ...artifact, parts: [part, { text: ' two' }] }])
})

test('gateway, A2A 0.3: a client gets every update with all fields', async () => {
  const legacySaid = {
    kind: 'message',
    messageId: 'h',
    role: 'user',
    parts: [{ kind: 'text', text: 'hi', x: 1 }],
    ...IDS,
  }
  const legacyNote = {
    kind: 'message',
    messageId: 'n1',
    role: 'agent',
    parts: [{ kind: 'text', text: 'hm', x: 1 }],
    ...IDS,
  }
  const file = { kind: 'file', file: { bytes: 'aGk=', mimeType: 'image/png', name: 'a.png', x_file: 1 }, x_part: 2 }
  const updates = [
    { kind: 'task', id: 't1', contextId: 'theirs', status: { state: 'submitted' }, history: [legacySaid], x_task: 1 },
    {
      kind: 'status-update',
      ...IDS,
      status: { state: 'working', message: legacyNote, x: 1 },
      final: false,
      x_update: 1,
    },
    { kind: 'artifact-update', ...IDS, artifact: { artifactId: 'a', parts: [file], x_artifact: 1 }, x_update: 2 },
    { kind: 'artifact-update', ...IDS, artifact: { artifactId: 'b', parts: [{ kind: 'data', data: { n: 1 }, x: 3 }] } },
    { kind: 'status-update', ...IDS, status: { state: 'completed', x: 2 }, final: true, x_update: 3 },
  ]
  const { url } = await gateway('0.3', updates)
  const frames = await stream(url, '0.3', {
    kind: 'message',
    messageId: 'm1',
    role: 'user',
    parts: [{ kind: 'text', text: 'hi' }],
  })
  const { id, contextId } = frames[0] as { id: string; contextId: string }
  expect(frames).toEqual(own(updates, id, contextId))
})

test('gateway, A2A: the agent gets the parts, metadata and extensions of the client’s message', async () => {
  const { url, agent } = await gateway('1.0', played)
  const parts = [{ text: 'look' }, { raw: 'aGk=', mediaType: 'image/png', filename: 'a.png' }, { data: { n: 1 } }]
  await stream(url, '1.0', { ...hello, parts, metadata: { lang: 'en' }, extensions: ['urn:y'] })
  expect(agent.requests[0]!.params['message']).toMatchObject({ parts, metadata: { lang: 'en' }, extensions: ['urn:y'] })
})

test('gateway, A2A: the reply of an agent that replies with a message is passed on', async () => {
  const message = { messageId: 'r1', role: 'ROLE_AGENT', parts: [{ text: 'hi' }, { data: { n: 1 } }], x_message: 1 }
  const { url } = await gateway('1.0', [{ message }], [{ message }])
  expect(await stream(url, '1.0', hello)).toEqual([{ message }])
  const sent = JSON.parse(await call(url, '1.0', 'SendMessage', { message: { ...hello, messageId: 'm2' } })) as Json
  expect(sent['result']).toEqual({ message })
})

test('gateway, A2A: a task that is complete at once is shown with its artifacts, status and metadata', async () => {
  const status = { state: 'TASK_STATE_COMPLETED', x_end: 1 }
  const task = { id: 't1', contextId: 'theirs', status, artifacts: [artifact], metadata: { a: 1 } }
  const { url } = await gateway('1.0', [{ task }])
  const frames = await stream(url, '1.0', hello)
  const { id, contextId } = frames[0]!['task'] as { id: string; contextId: string }
  const ids = { taskId: id, contextId }
  expect(frames.slice(1)).toEqual([{ artifactUpdate: { ...ids, artifact } }, { statusUpdate: { ...ids, status } }])
  expect(frames[0]).toMatchObject({ task: { metadata: { a: 1 }, status: { state: 'TASK_STATE_SUBMITTED' } } })
})

test('[RUN-3] gateway, A2A: a task that the agent loses is FAILED, and its pieces are shown', async () => {
  const { url } = await gateway('1.0', played.slice(0, 4))
  const frames = await stream(url, '1.0', hello)
  expect(frames.at(-2)).toMatchObject({ artifactUpdate: { artifact } })
  expect(frames.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_FAILED' } } })
})

test('gateway, A2A: a task that waits shows the agent’s own status, is answered, and completes', async () => {
  const question = { messageId: 'q1', role: 'ROLE_AGENT', parts: [{ text: 'Which?' }], metadata: { options: [1, 2] } }
  const waits = { statusUpdate: { ...IDS, status: { state: 'TASK_STATE_INPUT_REQUIRED', message: question } } }
  const { url, agent } = await gateway('1.0', [played[0]!, waits], [played[0]!, played[3]!, played[5]!])
  const frames = await stream(url, '1.0', hello)
  expect(frames.at(-1)).toMatchObject({ statusUpdate: { status: { message: question } } })
  const { id } = frames[0]!['task'] as { id: string }
  const rest = await stream(url, '1.0', { ...hello, messageId: 'm2', taskId: id, parts: [{ text: 'the first' }] })
  expect(agent.requests[1]!.params['message']).toMatchObject({ taskId: 't1', parts: [{ text: 'the first' }] })
  expect(rest.at(-2)).toMatchObject({ artifactUpdate: { artifact } })
  expect(rest.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED', x_end: 1 } } })
})
