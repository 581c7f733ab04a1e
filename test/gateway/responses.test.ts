/** Responses API through the gateway: clients get the upstream's own events and outcome, also across disconnects and restarts. */
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { type InProcessOptions, openInProcess, serveInProcess } from '../support/in-process.ts'
import { openResponsesProvider, type ResponsesProvider } from '../support/responses-provider.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

type Json = Readonly<Record<string, unknown>>
type Mode = 'stream' | 'background'

function optionsFor(provider: ResponsesProvider, mode: Mode, store?: Store): InProcessOptions {
  const source = upstream.openai(provider.url, { responses: mode, idleTimeoutMs: 5000 })
  return { components: [source], ...(store !== undefined && { store }) }
}

async function setUp(mode: Mode): Promise<{ provider: ResponsesProvider; url: string; client: OpenAI }> {
  const provider = await openResponsesProvider()
  provider.allowsForeground = mode === 'stream'
  const { url } = await serveInProcess(optionsFor(provider, mode, createMemoryStore()))
  await until('the model is discovered', async () =>
    JSON.stringify(await (await fetch(`${url}/v1/models`)).json()).includes('"m"'),
  )
  return { provider, url, client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 }) }
}

/** Reads a stream while the test scripts the provider. */
async function stream(url: string, body: object = {}): Promise<{ events: Json[]; ended: Promise<void> }> {
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', input: 'hello', stream: true, ...body }),
  })
  return read(response)
}

function read(response: Response): { events: Json[]; ended: Promise<void> } {
  const events: Json[] = []
  const ended = (async () => {
    let text = ''
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece
      const frames = text.split('\n\n')
      text = frames.pop()!
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1]
        if (data !== undefined && data !== '[DONE]') events.push(JSON.parse(data) as Json)
      }
    }
  })()
  ended.catch(() => {}) // a server that closes breaks its streams
  return { events, ended }
}

function textIn(events: readonly Json[]): string {
  return events.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [String(delta)] : [])).join('')
}

/** With the ids of the gateway. */
function own(events: readonly object[], id: unknown): unknown {
  return JSON.parse(JSON.stringify(events).replaceAll(/"id":"resp_[^"]*"/g, `"id":${JSON.stringify(id)}`))
}

const idOf = (events: readonly Json[]): unknown => (events[0]?.['response'] as Json | undefined)?.['id']

test('gateway, Responses: a client gets every event with all fields and unknown types, and so does one that retrieves the response', async () => {
  const { provider, url, client } = await setUp('background')
  const { events, ended } = await stream(url, { reasoning: { effort: 'low' }, x_option: 1 })
  await until('the upstream has the request', () => provider.generations.length === 1)
  provider.say('one ', 'two')
  provider.add('response.x_future', { x_field: { deep: [1] }, output_index: 0 })
  provider.finish()
  await ended
  expect(events).toEqual(own(provider.last.events, idOf(events)))
  expect(idOf(events)).toMatch(/^resp_/)
  expect(idOf(events)).not.toBe(provider.last.id)
  expect(provider.calls('POST', /responses$/)[0]!.body).toMatchObject({
    input: 'hello',
    reasoning: { effort: 'low' },
    x_option: 1,
  })
  const retrieved = await client.responses.retrieve(String(idOf(events)))
  expect(retrieved.output_text).toBe('one two')
  expect(retrieved).toMatchObject({ usage: { total_tokens: 10 } })
})

test('gateway, Responses: a stream that breaks is resumed after its last event, without duplicates', async () => {
  const { provider, url } = await setUp('background')
  const { events, ended } = await stream(url)
  await until('the upstream has the request', () => provider.generations.length === 1)
  provider.say('one ')
  await until('its text is shown', () => textIn(events) === 'one ')
  provider.drop()
  provider.say('two')
  provider.finish()
  await ended
  expect(events).toEqual(own(provider.last.events, idOf(events)))
  expect(provider.calls('GET', /responses\/resp/)[0]!.query).toEqual({ stream: 'true', starting_after: '2' })
})

test('gateway, Responses: after a cut, a response that cannot be streamed again is fetched, and the missing text is shown', async () => {
  const { provider, url, client } = await setUp('stream')
  const { events, ended } = await stream(url)
  await until('the upstream has the request', () => provider.generations.length === 1)
  provider.say('one ')
  await until('its text is shown', () => textIn(events) === 'one ')
  provider.drop()
  provider.say('two')
  provider.finish()
  await ended
  expect(textIn(events)).toBe('one two')
  expect(events.at(-1)).toMatchObject({ type: 'response.completed' })
  expect((await client.responses.retrieve(String(idOf(events)))).output_text).toBe('one two')
})

test('[RUN-3] gateway, Responses: a response that failed, was lost, or is not stored and breaks ends with an error', async () => {
  const { provider, url } = await setUp('background')
  const failed = await stream(url)
  await until('the upstream has the request', () => provider.generations.length === 1)
  provider.fail('the model crashed')
  await failed.ended
  expect(failed.events.at(-2)).toMatchObject({
    type: 'response.failed',
    response: { error: { message: 'the model crashed' } },
  })
  const lost = await stream(url)
  await until('the upstream has the request', () => provider.generations.length === 2)
  provider.forget()
  await lost.ended
  expect(lost.events.at(-1)).toMatchObject({ type: 'error', code: 'upstream_lost_run' })
  provider.allowsForeground = true
  const cut = await stream(url, { store: false })
  await until('the upstream has the request', () => provider.generations.length === 1)
  provider.say('half')
  await until('its text is shown', () => textIn(cut.events) === 'half')
  provider.drop()
  await cut.ended
  expect(cut.events.at(-1)).toMatchObject({ type: 'error', code: 'upstream_cut' })
})

test('gateway, Responses: previous_response_id is the upstream’s own', async () => {
  const { provider, url } = await setUp('background')
  const first = await stream(url)
  await until('the upstream has the request', () => provider.generations.length === 1)
  const theirs = provider.last.id
  provider.finish()
  await first.ended
  const second = await stream(url, { previous_response_id: idOf(first.events) })
  await until('the upstream has the request', () => provider.generations.length === 2)
  provider.finish()
  await second.ended
  expect(provider.calls('POST', /responses$/)[1]!.body).toMatchObject({ previous_response_id: theirs })
})

test('gateway, Responses: a stop cancels the response upstream', async () => {
  const { provider, url, client } = await setUp('background')
  const { events, ended } = await stream(url)
  await until('it has begun', () => events.length > 0)
  await client.responses.cancel(String(idOf(events)))
  await ended
  await until('it is cancelled', () => provider.calls('POST', /cancel$/).length > 0)
  expect(provider.last.status).toBe('cancelled')
})

test('[RUN-1] gateway, Responses: after a restart the gateway reconnects to the same response', async () => {
  const provider = await openResponsesProvider()
  const path = temporaryDatabase()
  const quick = { limits: { leaseMs: 1000 } }
  const before = await openInProcess({ ...optionsFor(provider, 'background'), path, ...quick })
  await until('the model is discovered', async () =>
    (await (await fetch(`${before.url}/v1/models`)).text()).includes('"m"'),
  )
  const first = await stream(before.url)
  await until('the upstream has the request', () => provider.generations.length === 1)
  provider.say('one ')
  await until('its text is shown', () => textIn(first.events) === 'one ')
  await before.close()
  await first.ended.catch(() => {})
  provider.say('two')
  provider.finish()
  const after = await serveInProcess({ ...optionsFor(provider, 'background'), path, ...quick })
  const rest = read(await fetch(`${after.url}/v1/responses/${String(idOf(first.events))}?stream=true`))
  await rest.ended
  expect(rest.events).toEqual(own(provider.last.events, idOf(first.events)))
  expect(provider.started).toBe(1)
})
