/** Request errors have the API's form, map to the official client's error classes, and start nothing. */
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { HoldfastError } from '../../../src/core/model/errors.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import { completionFrameFormat } from '../../../src/protocols/openai/chat/routes.ts'
import { framesIn, raw, runsOf, serveOpenAi, untilRun } from './serve.ts'

const messages = [{ role: 'user', content: 'text 1' }]

describe('OpenAI: a rejected request', () => {
  test.each<[string, string, unknown, number, string | null, string]>([
    ['a model that does not exist', 'chat/completions', { model: 'nope', messages }, 404, 'model', 'model_not_found'],
    ['no model', 'chat/completions', { messages }, 400, 'model', 'invalid_request'],
    ['no messages', 'chat/completions', { model: 'lab' }, 400, 'messages', 'invalid_request'],
    ['no message', 'chat/completions', { model: 'lab', messages: [] }, 400, 'messages', 'invalid_request'],
    ['a wrong type', 'chat/completions', { model: 'lab', messages, stream: 'yes' }, 400, 'stream', 'invalid_request'],
    [
      'a role that does not exist',
      'chat/completions',
      { model: 'lab', messages: [{ role: 'wizard', content: 'x' }] },
      400,
      'messages.0.role',
      'invalid_request',
    ],
    ['more than one answer', 'chat/completions', { model: 'lab', messages, n: 2 }, 422, 'n', 'unsupported_parameter'],
    ['no JSON', 'chat/completions', '{"model":', 400, null, 'invalid_request'],
    [
      'a script that the component does not take',
      'chat/completions',
      { model: 'lab', messages: [{ role: 'user', content: 'no such statement' }] },
      400,
      null,
      'invalid_request',
    ],
    [
      'an image that is none',
      'responses',
      { model: 'forecaster', input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
      400,
      'input.0.content.0.image_url',
      'invalid_request',
    ],
    [
      'a tool of the server',
      'responses',
      { model: 'lab', input: 'x', tools: [{ type: 'web_search' }] },
      422,
      'tools.0.type',
      'unsupported_parameter',
    ],
    [
      'an item that does not exist',
      'responses',
      { model: 'lab', input: [{ type: 'item_reference', id: 'msg_nope_0' }] },
      404,
      'input',
      'item_not_found',
    ],
    [
      'a part of a message that does not exist',
      'responses',
      { model: 'lab', input: [{ role: 'user', content: [{ type: 'smell' }] }] },
      400,
      'input.0.content.0.type',
      'invalid_request',
    ],
    ['no input', 'responses', { model: 'lab' }, 400, null, 'invalid_request'],
    [
      'a background that is not stored',
      'responses',
      { model: 'lab', input: 'text 1', background: true, store: false },
      400,
      'store',
      'invalid_request',
    ],
    [
      'a previous response that does not exist',
      'responses',
      { model: 'lab', input: 'text 1', previous_response_id: 'resp_nope' },
      400,
      'previous_response_id',
      'previous_response_not_found',
    ],
    [
      'a conversation that does not exist',
      'responses',
      { model: 'lab', input: 'text 1', conversation: 'conv_nope' },
      404,
      'conversation',
      'conversation_not_found',
    ],
    [
      'both of them',
      'responses',
      { model: 'lab', input: 'text 1', previous_response_id: 'resp_nope', conversation: 'c' },
      400,
      'conversation',
      'invalid_request',
    ],
    [
      'metadata that is too long',
      'responses',
      { model: 'lab', input: 'text 1', metadata: { a: 'x'.repeat(513) } },
      400,
      'metadata.a',
      'invalid_request',
    ],
  ])('%s', async (_name, path, body, status, param, code) => {
    const server = await serveOpenAi()
    const answer = await raw(server, `/v1/${path}`, body)
    expect(answer.status).toBe(status)
    const { error } = JSON.parse(answer.text) as { error: Record<string, unknown> }
    expect(Object.keys(error).toSorted()).toEqual(['code', 'message', 'param', 'type'])
    expect(error).toMatchObject({ code, param, type: 'invalid_request_error', message: expect.any(String) as string })
    expect(answer.headers.get('x-request-id')).toBeTruthy()
    expect(await runsOf(server)).toEqual([])
  })

  test('a body that is too large gets 413', async () => {
    const server = await serveOpenAi({ limits: { maxBodyBytes: 1000 } })
    const client = new OpenAI({ baseURL: server.base, apiKey: 'none', maxRetries: 0 })
    const large = client.responses.create({ model: 'lab', input: 'x'.repeat(2000) })
    await expect(large).rejects.toMatchObject({ status: 413, code: 'request_too_large' })
  })

  test('a request beyond the limit of queued runs gets 429 with the delay', async () => {
    const server = await serveOpenAi({ limits: { maxConcurrentRuns: 1, maxQueuedRuns: 0 } })
    await raw(server, '/v1/responses', { model: 'lab', input: 'hang', background: true })
    await untilRun(server, 2)
    const refused = await raw(server, '/v1/responses', { model: 'lab', input: 'text 1', background: true })
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBeTruthy()
    expect(refused.headers.get('x-should-retry')).toBeNull()
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'rate_limit_exceeded' } })
  })

  test.each(['responses/resp_nope', 'responses/x', 'models/nope', 'conversations/conv_nope', 'responses/resp_nope_1'])(
    'GET /v1/%s',
    async (path) => {
      const server = await serveOpenAi()
      const answer = await raw(server, `/v1/${path}`)
      expect(answer.status).toBe(404)
      expect(JSON.parse(answer.text)).toMatchObject({ error: { type: 'invalid_request_error' } })
    },
  )
})

describe('OpenAI: a busy session', () => {
  test('follows the policy of its component', async () => {
    const single = agent({
      id: 'single',
      onBusySession: 'reject',
      async *run(_input: string, { signal }) {
        yield 'busy'
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
      },
    }) as Component
    const server = await serveOpenAi({ components: [single] })
    const body = { model: 'single', input: 'x', background: true, conversation: 'ours' }
    expect((await raw(server, '/v1/responses', body)).status).toBe(200)
    const refused = await raw(server, '/v1/responses', body)
    expect(refused.status).toBe(409)
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'session_busy' } })
  })
})

describe('OpenAI: a run that asks a person', () => {
  const body = { model: 'lab', messages: [{ role: 'user', content: 'text 1; ask "Go on?"; text 1' }] }

  test('reports it on the stream, which waits for the answer and continues', async () => {
    const server = await serveOpenAi()
    const asked = raw(server, '/v1/chat/completions', { ...body, stream: true })
    const answered = (async () => {
      const { id } = await untilRun(server, 4)
      await raw(server, `/runs/${id}/answers`, { answer: 'yes' })
    })()
    await answered
    const frames = framesIn((await asked).text)
    expect(frames).toContainEqual(
      expect.objectContaining({ holdfast: { waiting: [expect.objectContaining({ prompt: 'Go on?' })] } }),
    )
    expect(frames.at(-1)).toBe('[DONE]')
  })

  test.each([
    ['/v1/chat/completions', body],
    ['/v1/responses', { model: 'lab', input: 'text 1; ask "Go on?"; text 1' }],
  ])('cannot be a complete response: %s returns the question, and the run waits', async (path, given) => {
    const server = await serveOpenAi()
    const refused = await raw(server, path, given, { 'idempotency-key': 'k' })
    expect(refused.status).toBe(422)
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'input_required' } })
    expect(refused.text).toContain('Go on?')
    const { id, status } = await untilRun(server)
    expect(status).toBe('paused')
    await raw(server, `/runs/${id}/answers`, { answer: 'yes' })
    expect((await raw(server, path, given, { 'idempotency-key': 'k' })).status).toBe(200)
  })

  test('is in progress for a client that polls, with what it waits for', async () => {
    const server = await serveOpenAi()
    const input = 'ask "Go on?"'
    const created = await raw(server, '/v1/responses', { model: 'lab', input, background: true })
    const { id } = JSON.parse(created.text) as { id: string }
    await untilRun(server, 3)
    const polled = await raw(server, `/v1/responses/${id}`)
    expect(JSON.parse(polled.text)).toMatchObject({
      status: 'in_progress',
      holdfast: { waiting: [{ prompt: 'Go on?' }] },
    })
  })
})

test('[RUN-3] OpenAI: the frame of a stream that fails has nothing but the error, so that every client raises it', () => {
  const error = new HoldfastError('log_damaged', 'the log is damaged')
  const frame = completionFrameFormat.notice({ kind: 'failed', error })!
  expect(framesIn(frame)).toEqual([{ error: expect.objectContaining({ message: 'the log is damaged' }) as unknown }])
})
