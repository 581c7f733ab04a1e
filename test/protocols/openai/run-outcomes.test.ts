/** Outcomes of runs: failures, stops, retries and reconnects. Each test names the issue of hermes-agent that it guards against. */
import { streamText } from 'ai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { scriptedModel } from '../../../src/agents/model/scripted/scripted.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { framesIn, type OpenAiServer, raw, runsOf, serveOpenAi, untilRun } from './serve.ts'

const clientOf = ({ base }: OpenAiServer): OpenAI => new OpenAI({ baseURL: base, apiKey: 'none', maxRetries: 0 })

const chat = (content: string, extra: object = {}): object => ({
  model: 'lab',
  messages: [{ role: 'user', content }],
  ...extra,
})

interface Chunk {
  readonly choices: readonly { readonly finish_reason: string | null; readonly delta: { readonly content?: string } }[]
  readonly error?: { readonly message: string; readonly code: string; readonly type: string }
  readonly usage?: object
}

describe('OpenAI: a crash is never reported as a normal stop (hermes #12422)', () => {
  test('[O-6] an agent that throws at once results in an error, no stop, no usage and no [DONE]', async () => {
    const server = await serveOpenAi()
    const { text } = await raw(
      server,
      '/v1/chat/completions',
      chat('throw boom', { stream: true, stream_options: { include_usage: true } }),
    )
    const frames = framesIn(text) as Chunk[]
    const error = { message: 'boom', type: 'server_error', param: null, code: 'agent_failed' }
    expect(frames.at(-1)).toEqual({ error })
    const reported = frames.slice(0, -1).flatMap(({ choices }) => choices.map((choice) => choice.finish_reason))
    expect(reported).toEqual([null])
    expect(text).not.toContain('[DONE]')
    expect(text).not.toContain('usage')
  })

  test.each(['throw boom', 'text 2; throw boom', 'text 2; circular', 'text 1; reject no', 'text 1; fail no luck'])(
    '[O-7] %s is the same failure in the same terms, streaming and not, in chat and in responses',
    async (script) => {
      const server = await serveOpenAi()
      const streamed = framesIn((await raw(server, '/v1/chat/completions', chat(script, { stream: true }))).text)
      const { error } = streamed.at(-1) as Chunk
      const shown = {
        code: error!.code,
        message: expect.stringContaining(outputOf(error!.message)) as string,
        type: error!.type,
      }
      const whole = await raw(server, '/v1/chat/completions', chat(script))
      expect(whole.status).toBeGreaterThanOrEqual(400)
      expect(JSON.parse(whole.text)).toMatchObject({ error: shown })
      const body = { model: 'lab', input: script }
      const response = await raw(server, '/v1/responses', body)
      expect(response.status).toBe(whole.status)
      expect(JSON.parse(response.text)).toMatchObject({ error: shown })
      const events = framesIn((await raw(server, '/v1/responses', { ...body, stream: true })).text)
      expect(events.at(-2)).toMatchObject({ type: 'error', error: shown, code: shown.code })
      expect(events.at(-3)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } })
    },
  )

  test('[O-8] usage is what was measured, or absent', async () => {
    const server = await serveOpenAi()
    const usage = { stream: true, stream_options: { include_usage: true } }
    const counted = framesIn(
      (await raw(server, '/v1/chat/completions', chat('text 1; usage 3 4; usage 1 1', usage))).text,
    )
    expect(counted.at(-2)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 },
    })
    const uncounted = await raw(server, '/v1/chat/completions', chat('text 1', usage))
    expect(uncounted.text).not.toContain('usage')
    expect(JSON.parse((await raw(server, '/v1/chat/completions', chat('text 1'))).text)).not.toHaveProperty('usage')
    const responded = JSON.parse((await raw(server, '/v1/responses', { model: 'lab', input: 'text 1' })).text) as object
    expect(responded).toMatchObject({ usage: null })
  })
})

test('OpenAI: a failed chat completion without streaming has an error status (hermes #22496)', async () => {
  const server = await serveOpenAi()
  const failed = clientOf(server).chat.completions.create({
    model: 'lab',
    messages: [{ role: 'user', content: 'text 3; throw boom' }],
  })
  await expect(failed).rejects.toMatchObject({ status: 502, code: 'agent_failed' })
})

test('OpenAI: a failed response without streaming has the status failed (hermes #102921)', async () => {
  const server = await serveOpenAi()
  const client = clientOf(server)
  await expect(client.responses.create({ model: 'lab', input: 'text 1; throw boom' })).rejects.toMatchObject({
    status: 502,
  })
  const { id } = await untilRun(server)
  const response = await client.responses.retrieve(id.replace('run_', 'resp_'))
  expect(response).toMatchObject({ status: 'failed', error: { code: 'agent_failed', message: 'boom' } })
})

test('OpenAI: a model that breaks off in the middle is reported as an error (hermes #32086)', async () => {
  const broken = modelAgent({
    id: 'broken',
    retries: 0,
    model: scriptedModel({
      script: async function* () {
        yield 'Half of '
        throw new Error('upstream dropped')
      } as never,
    }),
  }) as Component
  const server = await serveOpenAi({ components: [broken] })
  const { text } = await raw(server, '/v1/chat/completions', chat('hi', { model: 'broken', stream: true }))
  expect(text).toContain('"of "')
  expect(text).not.toMatch(/"finish_reason":"stop"|\[DONE\]/)
  expect((framesIn(text).at(-1) as Chunk).error).toBeDefined()
})

test('OpenAI: an output that is returned and not streamed is delivered (hermes #31449)', async () => {
  const quiet = agent({
    id: 'quiet',
    async *run() {
      return 'All at once.'
    },
  }) as Component
  const server = await serveOpenAi({ components: [quiet] })
  const client = clientOf(server)
  const completion = client.chat.completions.stream({ model: 'quiet', messages: [{ role: 'user', content: 'hi' }] })
  expect((await completion.finalChatCompletion()).choices[0]!.message.content).toBe('All at once.')
  expect((await client.responses.create({ model: 'quiet', input: 'hi' })).output_text).toBe('All at once.')
})

describe('OpenAI: tool progress does not break strict clients or pollute the content (hermes #100705, #6972)', () => {
  const script = 'text 1; tool search; tool lookup fail; custom note; state s; step s; text 1'

  test.each([{}, { 'holdfast-progress': 'tools' }])(
    'tool progress breaks no strict client and is not in the content with the headers %j',
    async (headers) => {
      const server = await serveOpenAi()
      const client = new OpenAI({ baseURL: server.base, apiKey: 'none', maxRetries: 0, defaultHeaders: headers })
      const stream = client.chat.completions.stream({ model: 'lab', messages: [{ role: 'user', content: script }] })
      const reported: unknown[] = []
      stream.on('chunk', (chunk) => 'holdfast' in chunk && reported.push(chunk.holdfast))
      const { message } = (await stream.finalChatCompletion()).choices[0]!
      expect(message.content).toMatch(/^\[0\] \w+ \[1\] \w+ $/)
      expect(message.tool_calls ?? []).toEqual([])
      const parts: string[] = []
      const model = createOpenAICompatible({ name: 'holdfast', baseURL: server.base, headers })('lab')
      const result = streamText({ model, prompt: script, maxRetries: 0 })
      for await (const { type } of result.fullStream) parts.push(type)
      expect(parts).not.toContain('error')
      expect(parts).not.toContain('tool-call')
      expect(reported).toMatchObject(
        'holdfast-progress' in headers
          ? ['running', 'completed', 'running', 'failed'].map((status) => ({ tool: { status } }))
          : [],
      )
    },
  )
})

test('OpenAI: a client that disconnects does not end the run (hermes #85016)', async () => {
  const server = await serveOpenAi()
  const gone = new AbortController()
  const left = clientOf(server).responses.create(
    { model: 'lab', input: 'text 2; sleep 200; text 2', stream: true },
    { signal: gone.signal },
  )
  for await (const event of await left) if (event.type === 'response.output_text.delta') break
  gone.abort()
  const { id } = await untilRun(server)
  const response = await until('it has ended', async () => {
    const found = await clientOf(server).responses.retrieve(id.replace('run_', 'resp_'))
    return found.status !== 'in_progress' && found
  })
  expect(response).toMatchObject({ status: 'completed', output_text: expect.stringContaining('[3]') as string })
})

test('OpenAI: concurrent and late subscribers all get every event (hermes #103262, #118138)', async () => {
  const server = await serveOpenAi()
  const { id } = await clientOf(server).responses.create({ model: 'lab', input: 'text 20 every 5', background: true })
  const address = `/v1/responses/${id}?stream=true`
  const [one, two] = await Promise.all([raw(server, address), raw(server, address)])
  const late = await raw(server, address)
  expect(framesIn(one.text)).toHaveLength(framesIn(late.text).length)
  expect(framesIn(two.text)).toEqual(framesIn(one.text))
  expect(framesIn(late.text)).toEqual(framesIn(one.text))
})

test('OpenAI: a stop ends as cancelled, and a second one changes nothing (hermes #84207, #84139)', async () => {
  const server = await serveOpenAi()
  const requested = raw(server, '/v1/chat/completions', chat('text 2; hang', { stream: true }))
  const { id } = await untilRun(server, 4)
  await server.service.stop(localPrincipal, id, 'enough')
  expect((framesIn((await requested).text).at(-1) as Chunk).error).toMatchObject({
    code: 'cancelled',
    message: expect.stringContaining('enough') as string,
  })
  await server.service.stop(localPrincipal, id, 'again')
  const response = await clientOf(server).responses.retrieve(id.replace('run_', 'resp_'))
  expect(response.error!.message).toContain('enough')
  expect(await runsOf(server)).toMatchObject([{ status: 'cancelled' }])
})

test('OpenAI: a run with output that fails is reported as failed (hermes #15561, #90436)', async () => {
  const server = await serveOpenAi()
  for (const script of ['text 3; fail no luck', 'text 3; reject no']) {
    const { text } = await raw(server, '/v1/responses', { model: 'lab', input: script, stream: true })
    expect(text).not.toContain('response.completed')
    expect(text).toContain('response.failed')
    expect((await runsOf(server))[0]!.status).not.toBe('completed')
  }
})

test('OpenAI: an event that cannot be written ends the stream with an error (hermes #53567)', async () => {
  const server = await serveOpenAi()
  const { text } = await raw(server, '/v1/chat/completions', chat('text 2; getter; text 1', { stream: true }))
  expect((framesIn(text).at(-1) as Chunk).error).toMatchObject({ code: 'unserializable' })
})

test('OpenAI: a retry after a lost response does not start a second run (hermes #88400)', async () => {
  const server = await serveOpenAi()
  const body = { model: 'lab', input: 'text 2', background: true }
  const key = { 'idempotency-key': 'once' }
  const lost = await raw(server, '/v1/responses', body, key)
  const again = await raw(server, '/v1/responses', body, key)
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(again.headers.get('holdfast-run')).toBe(lost.headers.get('holdfast-run'))
  expect(await runsOf(server)).toHaveLength(1)
})

test('OpenAI: heartbeats are sent while a tool works (hermes #7901)', async () => {
  const server = await serveOpenAi({ limits: { heartbeatIntervalMs: 30 } })
  const { text } = await raw(server, '/v1/chat/completions', chat('text 1; tool search 2000; text 1', { stream: true }))
  const meanwhile = text.slice(text.indexOf('[0]'), text.indexOf('[1]'))
  expect(meanwhile.match(/^: ping$/gm)!.length).toBeGreaterThan(1)
})

test('OpenAI: a run can be streamed again after a restart (hermes #112361)', async () => {
  const path = temporaryDatabase()
  const before = await serveOpenAi({ store: await openSqliteStore({ path }) })
  const { id } = await clientOf(before).responses.create({ model: 'lab', input: 'text 3; tool search' })
  const address = `/v1/responses/${id}?stream=true`
  const { text } = await raw(before, address)
  await before.close()
  const after = await serveOpenAi({ store: await openSqliteStore({ path }) })
  expect(framesIn((await raw(after, address)).text)).toEqual(framesIn(text))
})

test('OpenAI: a slow subscriber gets the end (hermes #61788)', async () => {
  const server = await serveOpenAi({ limits: { subscriberStallTimeoutMs: 60_000 } })
  const response = await fetch(`${server.base}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'lab', input: `${'big 512; '.repeat(16)}text 1`, stream: true }),
  })
  const run = await untilRun(server)
  // A client that does not read delays no run and loses no output.
  await until('the run has ended', async () => (await runsOf(server))[0]!.status === 'completed')
  const frames = framesIn(await response.text()) as { type?: string }[]
  expect(run.id).toBe(response.headers.get('holdfast-run'))
  expect(frames.at(-2)).toMatchObject({ type: 'response.completed' })
})

/** Without the ids that differ from run to run. */
function outputOf(message: string): string {
  return message.split(/run_|\(/)[0]!.trim()
}
