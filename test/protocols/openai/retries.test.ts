/** Repeated requests: by a caller with an idempotency key, and by the SDKs' own retries. */
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { labAgent } from '../../../src/agents/lab/agent.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import { silentLogger } from '../../../src/core/ports/logger.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { overriding } from '../../../src/testing/broken-stores.ts'
import { until } from '../../support/until.ts'
import { framesIn, type OpenAiServer, raw, runsOf, serveOpenAi, untilRun } from './serve.ts'

const chat = (content: string, extra: object = {}): object => ({
  model: 'lab',
  messages: [{ role: 'user', content }],
  ...extra,
})

describe('OpenAI: a retry with a key', () => {
  test.each([
    ['/v1/chat/completions', chat('text 3', { stream: true })],
    ['/v1/chat/completions', chat('text 3')],
    ['/v1/responses', { model: 'lab', input: 'text 3', stream: true }],
    ['/v1/responses', { model: 'lab', input: 'text 3' }],
  ])('[RUN-4] %s %j is one run, and the same answer', async (path, body) => {
    const server = await serveOpenAi()
    const first = await raw(server, path, body, { 'idempotency-key': 'k1' })
    const second = await raw(server, path, body, { 'idempotency-key': 'k1' })
    expect(second.text).toBe(first.text)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(await runsOf(server)).toHaveLength(1)
  })

  test('[RUN-4] a retry with another body is a conflict, which no SDK retries', async () => {
    const server = await serveOpenAi()
    await raw(server, '/v1/chat/completions', chat('text 1'), { 'idempotency-key': 'k1' })
    const client = new OpenAI({ baseURL: server.base, apiKey: 'none' })
    const other = client.chat.completions.create(
      { model: 'lab', messages: [{ role: 'user', content: 'text 2' }] },
      { headers: { 'idempotency-key': 'k1' } },
    )
    await expect(other).rejects.toMatchObject({ status: 409, code: 'idempotency_conflict' })
    expect(await runsOf(server)).toHaveLength(1)
  })

  test('uses the request id as a key only for the same body', async () => {
    const server = await serveOpenAi()
    const headers = { 'x-client-request-id': 'r1' }
    for (const script of ['text 1', 'text 1', 'text 2'])
      await raw(server, '/v1/chat/completions', chat(script), headers)
    expect(await runsOf(server)).toHaveLength(2)
  })
})

describe('OpenAI: without a key', () => {
  test('an SDK that times out and retries gets the run that it started', async () => {
    const server = await serveOpenAi()
    const client = new OpenAI({ baseURL: server.base, apiKey: 'none', timeout: 1000, maxRetries: 6 })
    const messages = [{ role: 'user' as const, content: 'text 2; sleep 1800; text 2' }]
    const completion = await client.chat.completions.create({ model: 'lab', messages })
    expect(completion.choices[0]!.message.content).toMatch(/\[3\]/)
    expect(await runsOf(server)).toHaveLength(1)
  })

  test('the same request that is not a retry is another run', async () => {
    const server = await serveOpenAi()
    for (let times = 0; times < 2; times++) await raw(server, '/v1/chat/completions', chat('text 1'))
    expect(await runsOf(server)).toHaveLength(2)
  })

  test('a retry does not get a failed run', async () => {
    const server = await serveOpenAi()
    await raw(server, '/v1/chat/completions', chat('throw boom'))
    await raw(server, '/v1/chat/completions', chat('throw boom'), { 'x-stainless-retry-count': '1' })
    expect(await runsOf(server)).toHaveLength(2)
  })

  test('a failed run is not retried by the SDK', async () => {
    const server = await serveOpenAi()
    const client = new OpenAI({ baseURL: server.base, apiKey: 'none', maxRetries: 2 })
    await expect(client.responses.create({ model: 'lab', input: 'throw boom' })).rejects.toMatchObject({ status: 502 })
    expect(await runsOf(server)).toHaveLength(1)
  })
})

describe('OpenAI: a client that disconnects', () => {
  const beginAndLeave = async (server: OpenAiServer, body: object, headers: Record<string, string>): Promise<void> => {
    const gone = new AbortController()
    const response = await fetch(`${server.base}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: gone.signal,
    })
    await response.body!.getReader().read()
    await untilRun(server, 4)
    gone.abort()
  }

  const leave = async (headers: Record<string, string>, extra: object, model = 'lab'): Promise<string> => {
    const stopping = { ...labAgent({ id: 'leaving' }), onDisconnect: 'stop' } as Component
    const server = await serveOpenAi({ components: [stopping] })
    await beginAndLeave(server, chat('text 2; sleep 300; text 2', { model, stream: true, ...extra }), headers)
    return until('the run has ended', async () => {
      const [run] = await runsOf(server)
      return run!.finishedAt !== undefined && run!.status
    })
  }

  test.each([
    ['nothing is configured', {}, {}, 'lab', 'completed'],
    ['the request says stop', { 'holdfast-disconnect': 'stop' }, {}, 'lab', 'cancelled'],
    ['the component says stop', {}, {}, 'leaving', 'cancelled'],
    ['the component says stop and it is stored', {}, { store: true }, 'leaving', 'completed'],
    [
      'the component says stop and the request continue',
      { 'holdfast-disconnect': 'continue' },
      {},
      'leaving',
      'completed',
    ],
  ])('[RUN-2] the run is stopped or completes as configured when %s', async (_name, headers, extra, model, status) => {
    expect(await leave(headers as Record<string, string>, extra, model)).toBe(status)
  })

  test('a run that cannot be stopped after the disconnect is logged', async () => {
    const requestStop = (): Promise<never> => Promise.reject(new Error('the disk is full'))
    const warnings: object[] = []
    const logger = { ...silentLogger, warn: (fields: object, message: string) => warnings.push({ ...fields, message }) }
    const server = await serveOpenAi({ store: overriding(createMemoryStore(), { requestStop }), logger })
    await beginAndLeave(server, chat('text 2; hang', { stream: true }), { 'holdfast-disconnect': 'stop' })
    const { id: run } = await untilRun(server)
    const message = 'failed to stop the run of a disconnected client'
    await until('it is told', () => warnings.length > 0)
    expect(warnings).toEqual([{ run, err: new Error('the disk is full'), message }])
  })
})

describe('OpenAI: text that an agent retracts', () => {
  test('retracted text that the agent repeats is sent once', async () => {
    const server = await serveOpenAi({ components: [faltering('the same ', 'the same ')] })
    const { text } = await raw(server, '/v1/chat/completions', chat('hi', { model: 'faltering', stream: true }))
    expect(contentOf(text)).toBe('the same end.')
    expect(text).toContain('[DONE]')
  })

  test('retracted text that the agent replaces ends the stream with an error, while the complete response has the new text', async () => {
    const server = await serveOpenAi({ components: [faltering('one thing ', 'another ')] })
    const streamed = await raw(server, '/v1/chat/completions', chat('hi', { model: 'faltering', stream: true }))
    expect(framesIn(streamed.text).at(-1)).toMatchObject({ error: { code: 'output_withdrawn' } })
    expect(streamed.text).not.toMatch(/"finish_reason":"stop"/)
    const { id } = await untilRun(server)
    const response = await raw(server, `/v1/responses/${id.replace('run_', 'resp_')}`)
    expect(JSON.parse(response.text)).toMatchObject({
      status: 'completed',
      output: [{ content: [{ text: 'another end.' }] }],
    })
    const whole = await raw(server, '/v1/chat/completions', chat('hi', { model: 'faltering' }))
    expect(JSON.parse(whole.text)).toMatchObject({ choices: [{ message: { content: 'another end.' } }] })
    const client = new OpenAI({ baseURL: server.base, apiKey: 'none', maxRetries: 0 })
    const stream = await client.responses.create({ model: 'faltering', input: 'hi', stream: true })
    const drain = async (): Promise<void> => {
      for await (const event of stream) expect(event.type).toBeTypeOf('string')
    }
    await expect(drain()).rejects.toMatchObject({ code: 'output_withdrawn' })
  })
})

/** Emits text in a stage that fails, and then in one that succeeds. */
function faltering(first: string, second: string): Component {
  return agent({
    id: 'faltering',
    async *run(_input, context) {
      const stage = (name: string, text: string, fails: boolean): Promise<void> =>
        context.stage(name, async function* () {
          yield text
          if (fails) throw new Error('faltered')
          yield 'end.'
        })
      await stage('first', first, true).catch(() => {})
      await stage('second', second, false)
    },
  })
}

function contentOf(text: string): string {
  const chunks = framesIn(text).filter((frame) => frame !== '[DONE]') as {
    choices: { delta: { content?: string } }[]
  }[]
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
}
