/** Remote A2A agents behind the official servers, 1.0 and 0.3. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type PeerOptions, type PeerStep, startPeer } from '../../../test/support/a2a-peers.ts'
import { answered, answeredElsewhere, dataOf, logOf, PATIENCE_MS } from '../../../test/support/adapters.ts'
import { openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { hangAtFirst, World } from '../../../test/support/world.ts'
import type { Component, RunContext } from '../../core/ports/component.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import { remoteA2aAgent, type RemoteA2aAgentDefinition } from './agent.ts'

const HASTE = { pollIntervalMs: 30, retryDelayMs: 10, requestTimeoutMs: 20_000 }

function remote(url: string, more: Partial<RemoteA2aAgentDefinition> = {}): Component {
  return remoteA2aAgent({ id: 'subject', url, ...HASTE, ...more })
}

/** A task that emits three words, one after the other. */
const three: readonly PeerStep[] = [
  { status: 'working' },
  { artifact: 'one ' },
  { artifact: 'two ', append: true },
  { artifact: 'three', append: true, last: true },
  { status: 'completed' },
]

/** More than an event can hold. */
function longText(): string {
  return 'A line of text: ☂ and 🦊.\n'.repeat(250_000)
}

/** Hangs in the first attempt after `events` events of a stage. */
function stuckInStage(component: Component, events: number): Component {
  return {
    ...component,
    run(input, context) {
      const stage: RunContext['stage'] = (name, work, options) =>
        context.stage(
          name,
          async function* () {
            let emitted = 0
            const rest = work()
            for (let next = await rest.next(); ; next = await rest.next()) {
              if (next.done === true) return next.value
              if (emitted++ === events) await hangAtFirst(context)
              yield next.value
            }
          },
          options,
        )
      return component.run(input, { ...context, stage })
    },
  }
}

function outputOf(log: readonly LoggedEvent[]): unknown {
  return dataOf(log, 'run.completed')[0]?.output
}

describe.each(['1.0', '0.3'] as const)('remote A2A %s', (version) => {
  const start = (steps: readonly PeerStep[], more: Partial<PeerOptions> = {}) =>
    startPeer({ version, script: () => steps, ...more })

  test('a task is streamed: chunks of an artifact are text, and its text is the output', async () => {
    const peer = await start(three)
    const log = await logOf(remote(peer.url), 'count')
    expect(dataOf(log, 'text.delta').map(({ text }) => text)).toEqual(['one ', 'two ', 'three'])
    expect(outputOf(log)).toBe('one two three')
    expect(peer.messages).toEqual([{ text: 'count', task: undefined }])
    expect(typesOf(log)).toContain('text.completed')
  })

  test('an artifact longer than an event is text in pieces, and is not repeated as output', async () => {
    const text = longText()
    const peer = await start([{ artifact: text, last: true }, { status: 'completed' }])
    const log = await logOf(remote(peer.url))
    expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: {} })
    expect(textOf(log) === text).toBe(true)
    expect(outputOf(log)).toBeUndefined()
    expect(dataOf(log, 'text.delta').length).toBeGreaterThan(10)
  })

  test('a response without a task is the whole output', async () => {
    const log = await logOf(remote((await start([{ message: 'Good day' }])).url))
    expect([textOf(log), outputOf(log)]).toEqual(['Good day', 'Good day'])
  })

  test('an answer without a task that is longer than an event is text in pieces', async () => {
    const text = longText()
    const peer = await start([{ message: text }])
    const log = await logOf(remote(peer.url))
    expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: {} })
    expect(textOf(log) === text).toBe(true)
    expect(outputOf(log)).toBeUndefined()
    expect(peer.messages).toHaveLength(1)
  })

  test('[RUN-1] a crash within a long answer without a task sends the message again, and the answer is complete', async () => {
    const text = longText()
    const peer = await start([{ message: text }])
    const world = new World(stuckInStage(remote(peer.url), 3))
    const id = await world.orphan(2)
    const log = await world.worker().ended(id, PATIENCE_MS)
    expect(log.at(-1)?.type).toBe('run.completed')
    expect(textOf(log) === text).toBe(true)
    expect(peer.messages).toHaveLength(2)
  })

  test.for(['failed', 'rejected'] as const)(
    'the reason of a task that was %s is cut if it is longer than an event',
    async (status) => {
      const log = await logOf(remote((await start([{ artifact: 'half ' }, { status, text: longText() }])).url))
      expect(log.at(-1)?.type).toBe(`run.${status}`)
      const { error, reason = error?.message } = log.at(-1)!.data as { error?: { message: string }; reason?: string }
      expect(reason).toMatch(/^A line of text[^]*\[cut: \d+ of \d+ characters/)
    },
  )

  test('a task that asks a question after more text than an event can hold continues with the answer', async () => {
    const text = longText()
    const peer = await startPeer({
      version,
      script: (answer, turn) =>
        turn === 1
          ? [{ artifact: text }, { status: 'input-required', text: 'Which one?' }]
          : [{ artifact: answer, append: true }, { status: 'completed' }],
    })
    const log = await answeredElsewhere(() => remote(peer.url), 'the blue one')
    expect(textOf(log) === `${text}the blue one`).toBe(true)
    expect(outputOf(log)).toBeUndefined()
  })

  test('status messages are text, and other parts are artifacts', async () => {
    const peer = await start([
      { status: 'working', text: 'Looking. ' },
      { value: { found: 3 } },
      { status: 'completed', text: 'Found.' },
    ])
    const log = await logOf(remote(peer.url))
    expect(textOf(log)).toBe('Looking. Found.')
    expect(dataOf(log, 'artifact.added')).toMatchObject([{ mediaType: 'application/json', value: { found: 3 } }])
    expect(outputOf(log)).toEqual({ found: 3 })
  })

  test.for([
    ['failed', 'run.failed'],
    ['rejected', 'run.rejected'],
    ['canceled', 'run.failed'],
  ] as const)('[RUN-3] a task that was %s ends as %s', async ([status, type]) => {
    const log = await logOf(remote((await start([{ artifact: 'half ' }, { status, text: 'no luck' }])).url))
    expect(log.at(-1)?.type).toBe(type)
    expect(JSON.stringify(log.at(-1)?.data)).toContain('no luck')
    expect(textOf(log)).toBe('half ')
  })

  test.for(['break', 'end'] as const)(
    '[RUN-3] a stream that is cut (%s) is resubscribed, and no output is lost or repeated',
    async (cut) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const steps = [...three.slice(0, 3), { until: promise }, ...three.slice(3)]
      const peer = await start(steps, { cuts: [3], cut })
      const running = logOf(remote(peer.url))
      await until('the task was subscribed to', () => peer.calls.length >= 2)
      resolve()
      const log = await running
      expect(outputOf(log)).toBe('one two three')
      expect(textOf(log)).toBe('one two three')
      expect(peer.messages).toHaveLength(1)
    },
  )

  test('a task that ended while its stream was cut is fetched', async () => {
    const peer = await start(three, { cuts: [2] })
    const log = await logOf(remote(peer.url, { retryDelayMs: 300 }))
    expect(outputOf(log)).toBe('one two three')
    expect(peer.calls.at(-1)).toBe(version === '1.0' ? 'GetTask' : 'tasks/resubscribe')
  })

  test('a server that does not stream is polled', async () => {
    const peer = await start(three, { streaming: false })
    const log = await logOf(remote(peer.url))
    expect(outputOf(log)).toBe('one two three')
    expect(peer.calls[0]).toMatch(/send/i)
  })

  const asking = (text: string, turn: number): readonly PeerStep[] =>
    turn === 1
      ? [{ artifact: 'Well. ' }, { status: 'input-required', text: 'Which one?' }]
      : [{ artifact: `You said ${text}`, append: true }, { status: 'completed' }]

  test('a task that needs input asks for it, and continues with the answer', async () => {
    const peer = await startPeer({ version, script: asking })
    const log = await answered(remote(peer.url), 'the blue one')
    expect(dataOf(log, 'run.paused')[0]!.questions).toMatchObject([{ kind: 'input', prompt: 'Which one?' }])
    expect(textOf(log)).toBe('Well. You said the blue one')
    expect(peer.messages[1]?.task).toBeDefined()
  })

  test('[RUN-1] a question survives its process, and the task is the same', async () => {
    const peer = await startPeer({ version, script: asking })
    const log = await answeredElsewhere(() => remote(peer.url), 'the blue one')
    expect(textOf(log)).toBe('Well. You said the blue one')
    expect(peer.messages).toHaveLength(2)
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('[RUN-1] a run whose process dies continues with the same task, which is not cancelled', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const peer = await start([...three.slice(0, 3), { until: promise }, ...three.slice(3)])
    const world = new World(remote(peer.url))
    const id = await world.orphan(2, 'count')
    const second = world.worker()
    await until('another worker looked at the task', () => peer.calls.length >= 2)
    resolve()
    const log = await second.ended(id, PATIENCE_MS)
    expect([textOf(log), outputOf(log)]).toEqual(['one two three', 'one two three'])
    expect(peer.messages).toHaveLength(1)
    expect(peer.cancelled).toEqual([])
  })

  test('[RUN-1] a run that is handed over continues with the same task, which is not cancelled', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const peer = await start([...three.slice(0, 3), { until: promise }, ...three.slice(3)])
    const world = new World(remote(peer.url))
    const first = world.worker()
    const id = await first.start('subject', 'count')
    await first.emitted(id, 'text.delta', 2)
    await first.service.drain()
    const second = world.worker()
    await until('another worker looked at the task', () => peer.calls.length >= 2)
    resolve()
    const log = await second.ended(id, PATIENCE_MS)
    expect(outputOf(log)).toBe('one two three')
    expect(peer.cancelled).toEqual([])
  })

  test('[RUN-2] a stop cancels the task', async () => {
    const peer = await start([...three.slice(0, 2), { until: new Promise(() => {}) }])
    const node = openNode({ components: [remote(peer.url)], limits: { stopGraceMs: 10_000 } })
    const id = await node.start('subject', 'count')
    await node.emitted(id, 'text.delta')
    await node.stop(id)
    expect((await node.ended(id, PATIENCE_MS)).at(-1)?.type).toBe('run.cancelled')
    await until('the task was cancelled', () => peer.cancelled.length === 1)
  })
})

/** A server with scripted responses. */
async function answering(
  answer: (path: string, body: string) => { status?: number; type?: string; body: string },
): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    let body = ''
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()))
    incoming.on('end', () => {
      const scripted = answer(incoming.url!, body)
      outgoing
        .writeHead(scripted.status ?? 200, { 'content-type': scripted.type ?? 'application/json' })
        .end(scripted.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('remote A2A: a server that violates the protocol', () => {
  const card = JSON.stringify({
    capabilities: { streaming: true },
    supportedInterfaces: [{ url: '/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  })
  const failureOf = async (url: string) => dataOf(await logOf(remote(url, { retries: 2 })), 'run.failed')[0]!.error

  test('a server that is unreachable fails the run as unavailable', async () => {
    expect(await failureOf('http://127.0.0.1:1')).toMatchObject({ code: 'upstream_unreachable', retryable: true })
  })

  test.for([
    ['refuses the card', () => ({ status: 403, body: 'no' }), 'upstream_http_error', 'responded with status 403: no'],
    [
      'has a card of another kind',
      () => ({ body: '{"supportedInterfaces":[]}' }),
      'unsupported',
      'no interface for JSONRPC',
    ],
    [
      'refuses the message',
      (path: string) => (path === '/rpc' ? { body: '{"error":{"code":-32602,"message":"bad part"}}' } : { body: card }),
      'agent_failed',
      'bad part',
    ],
    [
      'says nonsense',
      (path: string) =>
        path === '/rpc' ? { type: 'text/event-stream', body: 'data: {"result":{"nonsense":1}}\n\n' } : { body: card },
      'upstream_protocol_error',
      'neither a task',
    ],
    [
      'says nothing',
      (path: string) => (path === '/rpc' ? { type: 'text/event-stream', body: '' } : { body: card }),
      'upstream_unreachable',
      'without sending an update',
    ],
    [
      'forgets the task',
      (path: string, body: string) =>
        path !== '/rpc'
          ? { body: card }
          : body.includes('Streaming')
            ? {
                type: 'text/event-stream',
                body: 'data: {"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}\n\n',
              }
            : { body: '{"error":{"code":-32001,"message":"gone"}}' },
      'upstream_lost_run',
      'gone',
    ],
  ] as const)('a server that %s fails the run', async ([, answer, code, message]) => {
    const failure = await failureOf(await answering(answer))
    expect(failure.code).toBe(code)
    expect(failure.message).toContain(message)
  })

  test.for([
    ['queued', 'TASK_STATE_SUBMITTED', 'run.completed', 2],
    ['being worked on', 'TASK_STATE_WORKING', 'run.failed', 1],
  ] as const)(
    'a task that was %s when the server lost it ends as expected, and is resent only if it had not started',
    async ([, state, type, times]) => {
      let sent = 0
      const event = (value: object) => `data: ${JSON.stringify({ result: value })}\n\n`
      const url = await answering((path, body) => {
        if (path !== '/rpc') return { body: card }
        if (!body.includes('SendStreaming')) return { body: '{"error":{"code":-32001,"message":"gone"}}' }
        const id = `t${++sent}`
        const began = event({ task: { id, status: { state: sent === 1 ? state : 'TASK_STATE_WORKING' } } })
        const done = event({ statusUpdate: { taskId: id, status: { state: 'TASK_STATE_COMPLETED' } } })
        return { type: 'text/event-stream', body: sent === 1 ? began : began + done }
      })
      const log = await logOf(remote(url, { retries: 2 }))
      expect([log.at(-1)?.type, sent]).toEqual([type, times])
    },
  )

  test('gets no credential at an origin that only the card names', async () => {
    const asked: string[] = []
    const elsewhere = await answering((_path, body) => {
      asked.push(body)
      return { body: '{"error":{"code":-32600,"message":"who are you?"}}' }
    })
    const named = JSON.stringify({
      supportedInterfaces: [{ url: `${elsewhere}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    })
    const url = await answering(() => ({ body: named }))
    const log = await logOf(remote(url, { headers: { authorization: 'Bearer secret' } }))
    expect(dataOf(log, 'run.failed')[0]!.error.message).toContain('who are you?')
    expect(asked).toHaveLength(1)
    expect(JSON.stringify(asked)).not.toContain('secret')
  })
})
