/** Our client with official servers on a bad network, and with servers that behave badly. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { A2aClient, type A2aClientOptions, textOf, type TaskUpdate } from '../../../src/a2a/index.ts'
import { type PeerStep, startPeer } from '../../support/a2a-peers.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'
import { collected, textsOf, textOfUpdates } from './seen.ts'

const HASTE: A2aClientOptions = { pollIntervalMs: 20, retryDelayMs: 10, requestTimeoutMs: 20_000 }

const chunks = Array.from({ length: 40 }, (_, index) => `[${index}]`)

function chunked(gate?: (index: number) => Promise<unknown> | undefined): PeerStep[] {
  const steps = chunks.flatMap((artifact, index): PeerStep[] => {
    const wait = gate?.(index)
    return [...(wait === undefined ? [] : [{ until: wait }]), { artifact, append: index > 0 }]
  })
  return [{ status: 'working' }, ...steps, { status: 'completed' }]
}

describe.each([
  ['1.0', 'JSONRPC'],
  ['1.0', 'HTTP+JSON'],
  ['0.3', 'JSONRPC'],
  ['0.3', 'HTTP+JSON'],
] as const)('A2A client: an official server of %s over %s', (version, binding) => {
  test.each(['break', 'end'] as const)(
    '[RUN-3] streams that are cut repeatedly (%s) are resumed without loss or duplicates',
    async (cut) => {
      // A pause now and then, so that a client that comes back finds the stream still open; nothing depends on its length.
      const script = () =>
        chunked((index) => (index % 8 === 7 ? new Promise((next) => setTimeout(next, 40)) : undefined))
      const peer = await startPeer({ version, binding, script, cut, cuts: [3, 1, 5, 2, 4] })
      const client = await A2aClient.connect(peer.url, HASTE)
      const stream = client.stream('count')
      expect(textOfUpdates(await collected(stream))).toBe(chunks.join(''))
      expect(textsOf(stream.task!)).toBe(chunks.join(''))
      expect(stream.task!.status.state).toBe('TASK_STATE_COMPLETED')
      expect(peer.messages).toHaveLength(1)
    },
  )

  test('[RUN-3] a network outage is waited for', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const peer = await startPeer({ version, binding, script: () => chunked((at) => (at === 9 ? promise : undefined)) })
    const proxy = await startTcpProxy(Number(new URL(peer.url).port))
    const card = (await A2aClient.connect(peer.url, HASTE)).card
    const through = JSON.parse(
      JSON.stringify(card).replaceAll(new URL(peer.url).host, `127.0.0.1:${proxy.port}`),
    ) as typeof card
    const client = await A2aClient.of(through, peer.url, { ...HASTE, idleTimeoutMs: 300, retries: 50 })
    const seen: TaskUpdate[] = []
    const running = collected(client.stream('count'), seen)
    await until('it has begun', () => textOfUpdates(seen).includes('[8]'))
    proxy.block()
    proxy.cut()
    resolve()
    await new Promise((next) => setTimeout(next, 400)) // the length of the fault, longer than `idleTimeoutMs`
    proxy.cut()
    proxy.heal()
    expect(textOfUpdates(await running)).toBe(chunks.join(''))
  })
})

test('A2A client: chunks that the official server’s slow store loses for a subscriber are recovered at the end of the task', async () => {
  // Faster than its store, which is what makes it lose chunks.
  const script = () => chunked((index) => (index > 0 ? new Promise((next) => setTimeout(next, 10)) : undefined))
  const peer = await startPeer({ version: '1.0', script, slowStoreMs: 60, cuts: [8, 3] })
  const client = await A2aClient.connect(peer.url, { ...HASTE, retries: 200 })
  const stream = client.stream('count')
  expect(textOfUpdates(await collected(stream))).toBe(chunks.join(''))
  expect(textsOf(stream.task!)).toBe(chunks.join(''))
})

/** A server of 1.0 with a queue of responses per method. */
async function scripted(
  answers: Record<string, ((response: ServerResponse) => void)[]>,
): Promise<{ url: string; calls: string[] }> {
  const calls: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      if (request.method === 'GET') return void response.end(card)
      const { method } = JSON.parse(body) as { method: string }
      calls.push(method)
      const queue = answers[method] ?? []
      const answer = queue.length > 1 ? queue.shift() : queue[0]
      if (answer === undefined) response.end('{"error":{"code":-32601,"message":"no"}}')
      else answer(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls }
}

const card = JSON.stringify({
  capabilities: { streaming: true },
  supportedInterfaces: [{ url: '/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
})

const task = (state: string, ...texts: string[]): object => ({
  id: 't',
  contextId: 'c',
  status: { state: `TASK_STATE_${state}` },
  artifacts: texts.length === 0 ? [] : [{ artifactId: 'a', parts: texts.map((text) => ({ text })) }],
})

const chunk = (text: string, append = true): object => ({
  artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text }] }, append },
})

const status = (state: string): object => ({
  statusUpdate: { taskId: 't', contextId: 'c', status: { state: `TASK_STATE_${state}` } },
})

const result = (value: object) => (response: ServerResponse) => void response.end(JSON.stringify({ result: value }))

const streamed =
  (...events: object[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events)
      response.write(`data: ${JSON.stringify('error' in event ? event : { result: event })}\n\n`)
    response.end()
  }

describe('A2A client: faults of the server', () => {
  test.each([
    ['sends nothing twice', [chunk('three')]],
    ['sends the last chunk of the snapshot once more', [chunk('two '), chunk('three')]],
    ['sends all of the snapshot once more', [chunk('one ', false), chunk('two '), chunk('three')]],
  ])('a server that %s after a snapshot is understood', async (_what, events) => {
    const peer = await scripted({
      SendStreamingMessage: [streamed({ task: task('WORKING') }, chunk('one ', false))],
      SubscribeToTask: [streamed({ task: task('WORKING', 'one ', 'two ') }, ...events, status('COMPLETED'))],
      GetTask: [result(task('COMPLETED', 'one ', 'two ', 'three'))],
    })
    const stream = (await A2aClient.connect(peer.url, HASTE)).stream('count')
    const updates = await collected(stream)
    expect(
      updates.flatMap((update) => ('artifactUpdate' in update ? textOf(update.artifactUpdate.artifact.parts) : [])),
    ).toEqual(['one ', 'two ', 'three'])
    expect(textsOf(stream.task!)).toBe('one two three')
  })

  test('a server that repeats a chunk persistently is believed in the end', async () => {
    const peer = await scripted({
      SendStreamingMessage: [streamed({ task: task('WORKING') }, chunk('ha ', false))],
      SubscribeToTask: [streamed({ task: task('WORKING', 'ha ', 'ha ') }, chunk('ha '), status('COMPLETED'))],
      GetTask: [result(task('COMPLETED', 'ha ', 'ha ', 'ha '))],
    })
    const stream = (await A2aClient.connect(peer.url, HASTE)).stream('laugh')
    expect(textOfUpdates(await collected(stream))).toBe('ha ha ha ')
  })

  test('a state older than what was sent is ignored', async () => {
    const peer = await scripted({
      SendStreamingMessage: [streamed({ task: task('WORKING') }, chunk('one ', false), chunk('two '))],
      SubscribeToTask: [streamed({ task: task('WORKING', 'one ') }, chunk('three'), status('COMPLETED'))],
      GetTask: [result(task('WORKING', 'one ', 'two ')), result(task('COMPLETED', 'one ', 'two ', 'three'))],
    })
    const updates = await collected((await A2aClient.connect(peer.url, HASTE)).stream('count'))
    expect(updates.filter((update) => 'artifactUpdate' in update)).toHaveLength(3)
    expect(textOfUpdates(updates)).toBe('one two three')
  })

  test('a server that ends every stream at once is polled instead', async () => {
    const peer = await scripted({
      SendStreamingMessage: [streamed({ task: task('WORKING') })],
      SubscribeToTask: [streamed({ task: task('WORKING') })],
      GetTask: [
        result(task('WORKING', 'one ')),
        result(task('WORKING', 'one ', 'two')),
        result(task('COMPLETED', 'one ', 'two')),
      ],
    })
    const updates = await collected((await A2aClient.connect(peer.url, HASTE)).stream('count'))
    expect(textOfUpdates(updates)).toBe('one two')
    expect(peer.calls.filter((method) => method === 'SubscribeToTask')).toHaveLength(3)
    expect(peer.calls.filter((method) => method === 'GetTask')).toHaveLength(3)
  })

  test('a stream that reports an error is resubscribed', async () => {
    const peer = await scripted({
      SendStreamingMessage: [streamed({ task: task('WORKING') }, { error: { code: -32603, message: 'closing' } })],
      SubscribeToTask: [streamed({ task: task('WORKING', 'one') }, status('COMPLETED'))],
      GetTask: [result(task('COMPLETED', 'one'))],
    })
    expect(textOfUpdates(await collected((await A2aClient.connect(peer.url, HASTE)).stream('count')))).toBe('one')
  })

  test('[RUN-3] a task that never ends is an error with the last known state', async () => {
    const peer = await scripted({
      SendStreamingMessage: [streamed({ task: task('WORKING') }, chunk('half', false))],
      SubscribeToTask: [(response) => void response.destroy()],
      GetTask: [(response) => void response.destroy()],
    })
    const stream = (await A2aClient.connect(peer.url, { ...HASTE, retries: 4 })).stream('count')
    await expect(collected(stream)).rejects.toMatchObject({ name: 'ConnectionError', retryable: true })
    expect(stream.task!.status.state).toBe('TASK_STATE_WORKING')
  })

  test('a message that may have been accepted is not sent again, unless allowed', async () => {
    const broken = (response: ServerResponse): void => void response.destroy()
    const answers = () => ({ SendStreamingMessage: [broken, streamed({ task: task('COMPLETED', 'once') })] })
    const careful = await scripted(answers())
    const first = (await A2aClient.connect(careful.url, HASTE)).stream('pay')
    await expect(first.result()).rejects.toMatchObject({ name: 'ConnectionError' })
    expect(careful.calls).toEqual(['SendStreamingMessage'])
    const knowing = await scripted(answers())
    const again = (await A2aClient.connect(knowing.url, { ...HASTE, resend: 'always' })).stream('pay')
    expect(textOfUpdates(await collected(again))).toBe('once')
  })

  test('a silent stream is resubscribed', async () => {
    const peer = await scripted({
      SendStreamingMessage: [
        (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(`data: ${JSON.stringify({ result: { task: task('WORKING') } })}\n\n`)
        },
      ],
      SubscribeToTask: [streamed({ task: task('COMPLETED', 'there') })],
    })
    const client = await A2aClient.connect(peer.url, { ...HASTE, idleTimeoutMs: 100 })
    expect(textOfUpdates(await collected(client.stream('wait')))).toBe('there')
  })

  test('[RUN-3] a server that accepts every request and answers none fails the call', async () => {
    const silent = (): void => {}
    const peer = await scripted({
      SendStreamingMessage: [streamed({ task: task('WORKING') })],
      SubscribeToTask: [silent],
      GetTask: [silent],
    })
    const client = await A2aClient.connect(peer.url, { ...HASTE, idleTimeoutMs: 2100, retries: 2 })
    await expect(collected(client.stream('wait'))).rejects.toMatchObject({ name: 'ConnectionError', retryable: true })
    expect(peer.calls.filter((method) => method === 'SubscribeToTask')).toHaveLength(2)
  })

  test('a server that streams nothing and does not return the task is polled', async () => {
    const quiet = (response: ServerResponse): void =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
    const peer = await scripted({
      SendStreamingMessage: [streamed({ task: task('WORKING') })],
      SubscribeToTask: [quiet],
      GetTask: [result(task('WORKING')), result(task('COMPLETED', 'there'))],
    })
    const client = await A2aClient.connect(peer.url, { ...HASTE, idleTimeoutMs: 2100 })
    expect(textOfUpdates(await collected(client.stream('wait')))).toBe('there')
    expect(peer.calls.filter((method) => method === 'SubscribeToTask')).toHaveLength(3)
  })

  test('a redirect is not followed, so that a credential is sent nowhere else', async () => {
    const elsewhere = await scripted({})
    const peer = await scripted({
      SendMessage: [(response) => void response.writeHead(307, { location: `${elsewhere.url}/rpc` }).end()],
    })
    const client = await A2aClient.connect(peer.url, { ...HASTE, retries: 0, headers: { authorization: 'Bearer x' } })
    await expect(client.send('hello')).rejects.toMatchObject({ name: 'ConnectionError' })
    expect(elsewhere.calls).toEqual([])
  })
})

test('A2A client: an abort rejects with its own reason, and closes the stream', async () => {
  const peer = await startPeer({
    version: '1.0',
    script: () => [{ status: 'working' }, { until: new Promise(() => {}) }],
  })
  const client = await A2aClient.connect(peer.url, HASTE)
  const stopped = new AbortController()
  const running = collected(client.stream('wait', { signal: stopped.signal }))
  await until('it was sent', () => peer.messages.length === 1)
  stopped.abort(new Error('enough'))
  await expect(running).rejects.toThrow('enough')
})
