import { RESUME_EXTENSION } from '../../../src/a2a/resume.ts'
import { describe, expect, test } from 'vitest'
import type { Task } from '../../../src/protocols/a2a/wire/wire.ts'
import {
  begin,
  current,
  drained,
  getTask,
  message,
  open,
  result,
  rpc,
  seen,
  send,
  serveA2a,
  stream,
  texts,
} from './serve.ts'
import { until } from '../../support/until.ts'

test('A2A: a send waits for the end of the task and returns the whole task', async () => {
  const server = await serveA2a()
  const task = await send(server.agent(), 'text 3')
  expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  expect(task.status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(Object.values(texts(task))[0]).toMatch(/^\[0\].*\[1\].*\[2\]/)
  expect(await getTask(server.agent(), task.id)).toEqual(task)
})

test('A2A: a non-blocking send returns at once, and the task continues', async () => {
  const server = await serveA2a()
  const task = await begin(server.agent(), 'text 2; hang')
  expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state)
  await until('it works', async () => (await getTask(server.agent(), task.id)).status.state === 'TASK_STATE_WORKING')
})

describe('A2A: every state of a task is reported:', () => {
  test.each([
    ['text 1', 'COMPLETED', ''],
    ['throw boom', 'FAILED', 'boom'],
    ['reject not today', 'REJECTED', 'not today'],
    ['ask Go on?', 'INPUT_REQUIRED', 'Go on?'],
  ])('%s is %s, on a send and on a stream alike [RUN-3]', async (script, state, expectedText) => {
    const server = await serveA2a()
    const task = await send(server.agent(), script)
    expect(task.status.state).toBe(`TASK_STATE_${state}`)
    expect(JSON.stringify(task.status.message) ?? '').toContain(expectedText)
    const last = (await drained(stream(server.agent(), script))).at(-1)!
    expect(last.statusUpdate?.status.state).toBe(`TASK_STATE_${state}`)
    expect(JSON.stringify(last.statusUpdate?.status.message) ?? '').toContain(expectedText)
  })

  test('a task that waits for a credential is AUTH_REQUIRED, keeps its stream, and continues when the credential arrives from elsewhere', async () => {
    const server = await serveA2a()
    const url = server.agent('notary')
    const opened = stream(url, 'sign')
    const waiting = await until('it waits', () =>
      seen(opened).find(({ statusUpdate }) => statusUpdate?.status.state === 'TASK_STATE_AUTH_REQUIRED'),
    )
    expect(waiting.statusUpdate?.status.message?.parts[0]).toEqual({ text: 'Sign in first' })
    const { id } = seen(opened)[0]!.task!
    await server.service.answer({ id: 'local' }, id, { [(await server.store.get(id))!.run.waiting![0]!.id]: 'Ada' })
    expect((await drained(opened)).at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED')
    expect(texts(await getTask(url, id))).toEqual({ answer: 'signed by Ada' })
  })
})

test('A2A: a task that asks is continued by a message that names it, and its history has both sides in order', async () => {
  const server = await serveA2a()
  const url = server.agent()
  const asked = await send(url, 'ask Shall I?; text 1')
  const answer = message('yes', { taskId: asked.id, contextId: asked.contextId })
  const { task } = await result<{ task: Task }>(url, 'SendMessage', { message: answer })
  expect(task).toMatchObject({ id: asked.id, contextId: asked.contextId, status: { state: 'TASK_STATE_COMPLETED' } })
  expect(task.history!.map(({ role, parts }) => [role, parts[0]!.text])).toEqual([
    ['ROLE_USER', 'ask Shall I?; text 1'],
    ['ROLE_AGENT', 'Shall I?'],
    ['ROLE_USER', 'yes'],
  ])
  expect(task.history!.at(-1)!.messageId).toBe(answer.messageId)
})

test('A2A: a second turn can be streamed: it begins with the working task and repeats nothing of the first turn', async () => {
  const server = await serveA2a()
  const asked = await send(server.agent(), 'text 2; ask Shall I?; text 1')
  const updates = await drained(stream(server.agent(), 'yes', { taskId: asked.id }))
  expect(updates[0]!.task).toMatchObject({ id: asked.id, status: { state: 'TASK_STATE_WORKING' } })
  expect(
    updates.filter(({ artifactUpdate }) => artifactUpdate?.artifact.parts[0]?.text?.startsWith('[2]')),
  ).toHaveLength(1)
  expect(updates.at(-1)!.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED')
})

/** Makes a message id identify a message. */
const resume = { 'a2a-extensions': RESUME_EXTENSION }

test('A2A: an answer that is sent again does not answer the next question', async () => {
  const server = await serveA2a()
  const asked = await send(server.agent(), 'ask One?; ask Two?; text 1')
  const answer = message('first', { taskId: asked.id })
  for (const _ of [1, 2]) {
    const { result: found } = await rpc(server.agent(), 'SendMessage', { message: answer }, resume)
    expect((found as { task: Task }).task.status.message?.parts[0]).toEqual({ text: 'Two?' })
  }
  expect((await send(server.agent(), 'second', { taskId: asked.id })).status.state).toBe('TASK_STATE_COMPLETED')
})

test('A2A: an Idempotency-Key takes precedence over the message id', async () => {
  const server = await serveA2a()
  const idOf = async (key: string, sent: object) => {
    const { result: found } = await rpc(server.agent(), 'SendMessage', { message: sent }, { 'idempotency-key': key })
    return (found as { task: Task }).task.id
  }
  const same = message('text 1')
  const first = await idOf('a', same)
  expect(await idOf('a', same)).toBe(first)
  expect(await idOf('b', same)).not.toBe(first)
})

test('A2A: several questions are answered by id, or all with the same answer; a plain yes approves', async () => {
  const server = await serveA2a()
  const url = server.agent('surveyor')
  const asked = await send(url, 'measure')
  const { questions } = asked.status.message!.parts.at(-1)!.data as { questions: { id: string }[] }
  const answers = Object.fromEntries(questions.map(({ id }, at) => [id, at]))
  const answered = await send(url, '', { taskId: asked.id, parts: [{ data: { answers } }] })
  expect(answered.artifacts![0]!.parts[0]!.data).toEqual([0, 1])
  const wrong = await send(url, 'measure')
  const refused = { message: message('', { taskId: wrong.id, parts: [{ data: { answers: { nobody: 1 } } }] }) }
  expect((await rpc(url, 'SendMessage', refused)).error?.code).toBe(-32602)
  expect((await getTask(url, wrong.id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')

  for (const [word, approved] of [
    ['Yes.', true],
    ['no', false],
    ['perhaps', 'perhaps'],
  ] as const) {
    const { id } = await send(server.agent('careful'), 'go')
    const { artifacts } = await send(server.agent('careful'), word, { taskId: id })
    expect(artifacts![0]!.parts[0]!.data).toEqual({ approved })
  }
})

test('A2A: an agent that answers without a task sends a message, alone on its stream', async () => {
  const server = await serveA2a()
  const answer = await result<{ message: { parts: unknown } }>(server.agent('parrot'), 'SendMessage', {
    message: message('hello'),
  })
  expect(answer.message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'hello' }] })
  const updates = await drained(stream(server.agent('parrot'), 'hello'))
  expect(updates).toHaveLength(1)
  expect(updates[0]!.message?.parts).toEqual([{ text: 'hello' }])
})

test('[O-15] send and stream treat the same parameters in the same way, metadata included', async () => {
  const server = await serveA2a()
  const metadata = { ticket: 42 }
  const parts = [{ text: 'hello' }, { data: { a: 1 } }, { raw: 'AAEC', mediaType: 'image/png', filename: 'a.png' }]
  const sent = await result<{ task: Task }>(server.agent('echo'), 'SendMessage', {
    message: message('', { parts, metadata: { inner: true } }),
    metadata,
  })
  const [first] = await drained(
    open(server.agent('echo'), 'SendStreamingMessage', {
      message: message('', { parts, metadata: { inner: true } }),
      metadata,
    }),
  )
  const streamed = await getTask(server.agent('echo'), first!.task!.id)
  for (const task of [sent.task, streamed]) {
    expect(task.metadata).toEqual(metadata)
    expect(task.history![0]).toMatchObject({ parts, metadata: { inner: true } })
    const { input, metadata: given } = task.artifacts!.at(-1)!.parts[0]!.data as {
      input: unknown
      metadata: Record<string, unknown>
    }
    expect(input).toEqual({ text: 'hello\n{"a":1}', files: [{ mediaType: 'image/png', data: 'AAEC', name: 'a.png' }] })
    expect(given['ticket']).toBe(42)
  }
})

test('[O-14] reading a task with a history length never changes what is stored', async () => {
  const server = await serveA2a()
  const asked = await send(server.agent(), 'ask A?; text 1')
  await send(server.agent(), 'yes', { taskId: asked.id })
  const whole = await getTask(server.agent(), asked.id)
  expect(whole.history).toHaveLength(3)
  expect((await getTask(server.agent(), asked.id, { historyLength: 0 })).history).toBeUndefined()
  expect((await getTask(server.agent(), asked.id, { historyLength: 1 })).history).toEqual(whole.history!.slice(-1))
  expect(await getTask(server.agent(), asked.id)).toEqual(whole)
  expect((await rpc(server.agent(), 'GetTask', { id: asked.id, historyLength: -1 })).error?.code).toBe(-32602)
})

test('A2A: a megabyte of text with every kind of character is returned unchanged', async () => {
  const server = await serveA2a()
  const task = await send(server.agent(), 'say "hé 日本 🦑 \u2028"; big 1024')
  const [output] = Object.values(texts(task))
  expect(output!.startsWith('hé 日本 🦑 ')).toBe(true)
  expect(output!.length).toBeGreaterThan(1024 * 1024)
})

describe('A2A: a cancel', () => {
  test('ends a working task, and a second cancel gets the same response [RUN-2]', async () => {
    const server = await serveA2a()
    const { id } = await begin(server.agent(), 'hang')
    for (const _ of [1, 2])
      expect((await result<Task>(server.agent(), 'CancelTask', { id })).status.state).toBe('TASK_STATE_CANCELED')
  })

  test('ends a waiting task', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'ask Go?')
    expect((await result<Task>(server.agent(), 'CancelTask', { id })).status.state).toBe('TASK_STATE_CANCELED')
  })

  test('does not change a finished task', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'text 1')
    expect((await rpc(server.agent(), 'CancelTask', { id })).error).toMatchObject({ code: -32002 })
    expect((await getTask(server.agent(), id)).status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('A2A: errors use the terms of the binding:', () => {
  test.each([
    ['an unknown task', 'GetTask', { id: 'nope' }, -32001, 'TASK_NOT_FOUND'],
    [
      'a message for an unknown task',
      'SendMessage',
      { message: message('x', { taskId: 'nope' }) },
      -32001,
      'TASK_NOT_FOUND',
    ],
    ['no message', 'SendMessage', {}, -32602, undefined],
    [
      'a part of two kinds',
      'SendMessage',
      { message: message('', { parts: [{ text: 'a', url: 'b' }] }) },
      -32602,
      undefined,
    ],
    ['a script that does not parse', 'SendMessage', { message: message('nonsense') }, -32602, undefined],
    ['an unknown method', 'Dance', {}, -32601, undefined],
    ['no extended card', 'GetExtendedAgentCard', undefined, -32004, 'UNSUPPORTED_OPERATION'],
  ])('%s', async (_what, method, params, code, reason) => {
    const server = await serveA2a()
    const { error } = await rpc(server.agent(), method, params)
    expect(error?.code).toBe(code)
    const infos = (error?.data ?? []).filter((info) => 'reason' in info)
    expect(infos).toMatchObject(reason === undefined ? [] : [{ reason, domain: 'a2a-protocol.org' }])
  })

  test('a message to a task that has ended, is working, or is in another context is an error', async () => {
    const server = await serveA2a()
    const ended = await send(server.agent(), 'text 1')
    const busy = await begin(server.agent(), 'hang')
    const waiting = await send(server.agent(), 'ask Go?')
    const codes = [
      await rpc(server.agent(), 'SendMessage', { message: message('x', { taskId: ended.id }) }),
      await rpc(server.agent(), 'SendMessage', { message: message('x', { taskId: busy.id }) }),
      await rpc(server.agent(), 'SendMessage', { message: message('x', { taskId: waiting.id, contextId: 'another' }) }),
    ].map(({ error }) => error?.code)
    expect(codes).toEqual([-32004, -32004, -32602])
  })

  test.each([
    ['{"jsonrpc": "2.0", "method"', -32700],
    ['[]', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"GetTask"}', -32600],
    ['{"jsonrpc":"2.0","id":1}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"GetTask"}', -32600],
    [`{"jsonrpc":"2.0","id":"${'1'.repeat(1001)}","method":"GetTask"}`, -32600],
  ])('a body of %s is an error', async (body, code) => {
    const server = await serveA2a()
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const response = await fetch(server.agent(), { method: 'POST', headers, body })
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code } })
  })

  test('an unsupported version is an error; the patch number is ignored, and a query parameter is accepted', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'text 1')
    const codeWith = async (version: string) =>
      (await rpc(server.agent(), 'GetTask', { id }, { 'a2a-version': version })).error?.code
    expect(await Promise.all(['99.0', '', '0.3', '1.0', '1.0.1', 'x'].map(codeWith))).toEqual([
      -32009,
      -32009,
      -32009,
      undefined,
      undefined,
      -32009,
    ])
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } })
    const byQuery = await fetch(`${server.agent()}?A2A-Version=1.0`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    expect(await byQuery.json()).toMatchObject({ result: { id } })
  })

  test('a body that is too large is an error with either binding, and the server continues', async () => {
    const server = await serveA2a({ limits: { maxBodyBytes: 10_000 } })
    const large = { message: message('x'.repeat(20_000)) }
    expect((await rpc(server.agent(), 'SendMessage', large)).error?.code).toBe(-32602)
    const rest = await fetch(`${server.agent()}/message:send`, {
      method: 'POST',
      headers: current,
      body: JSON.stringify(large),
    })
    expect(rest.status).toBe(413)
    expect((await send(server.agent(), 'text 1')).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('a media type that an agent does not accept is an error', async () => {
    const server = await serveA2a({ a2a: { agents: { lab: { inputModes: ['text/plain', 'image/*'] } } } })
    const parts = (mediaType: string) => ({ message: message('', { parts: [{ raw: 'AA==', mediaType }] }) })
    expect((await rpc(server.agent(), 'SendMessage', parts('audio/wav'))).error?.code).toBe(-32005)
    expect((await rpc(server.agent(), 'SendMessage', parts('image/png'))).error?.code).not.toBe(-32005)
  })
})
