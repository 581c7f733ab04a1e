/** Sessions by header, by conversation, or by previous response. */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, type ModelMessage } from 'ai'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { scriptedModel } from '../../../src/agents/model/scripted/scripted.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { call, getRun } from '../../support/http.ts'
import { type OpenAiServer, raw, runsOf, serveOpenAi } from './serve.ts'

/** Repeats all messages that it got, with their roles, oldest first. */
const rememberer = modelAgent({
  id: 'rememberer',
  model: scriptedModel({
    script: ({ prompt }) =>
      prompt
        .map(({ role, content }) => {
          const text =
            typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : '')).join('')
          return `${role[0]}(${text.split(' ')[0]})`
        })
        .join(' '),
  }),
}) as Component

async function serve(): Promise<{ readonly server: OpenAiServer; readonly client: OpenAI }> {
  const server = await serveOpenAi({ components: [rememberer] })
  return { server, client: new OpenAI({ baseURL: server.base, apiKey: 'none', maxRetries: 0 }) }
}

const model = 'rememberer'

test('OpenAI: a response continues the session of previous_response_id', async () => {
  const { server, client } = await serve()
  const first = await client.responses.create({ model, input: 'one' })
  const second = await client.responses.create({ model, input: 'two', previous_response_id: first.id })
  expect(second).toMatchObject({ output_text: 'u(one) a(u(one)) u(two)', previous_response_id: first.id })
  expect(new Set((await runsOf(server)).map(({ session }) => session)).size).toBe(1)
})

test('OpenAI: a conversation name starts a conversation, and continues it', async () => {
  const { client } = await serve()
  await client.responses.create({ model, input: 'one', conversation: 'ours' })
  const second = await client.responses.create({ model, input: 'two', conversation: { id: 'ours' } })
  expect(second.output_text).toBe('u(one) a(u(one)) u(two)')
  expect(second.conversation).toEqual({ id: 'ours' })
})

test('OpenAI: a chat with a session header gets only new messages; without one it gets all', async () => {
  const { server } = await serve()
  const say = (contents: readonly string[], headers = {}) => {
    const messages = contents.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }))
    return raw(server, '/v1/chat/completions', { model, messages }, headers)
  }
  const first = await say(['one'])
  const session = first.headers.get('holdfast-session')!
  expect(session).toMatch(/^conv_/)
  const contentOf = ({ text }: { text: string }): string =>
    (JSON.parse(text) as OpenAI.ChatCompletion).choices[0]!.message.content!
  const history = ['one', contentOf(first), 'two']
  const second = await say(history, { 'holdfast-session': session })
  expect(contentOf(second)).toBe('u(one) a(u(one)) u(two)')
  const { id } = JSON.parse(second.text) as { id: string }
  const asked = await raw(server, `/v1/responses/${id}/input_items`)
  expect(JSON.parse(asked.text)).toMatchObject({ data: [{ content: [{ text: 'two' }] }] })
  expect(contentOf(await say(history))).toBe('u(one) a(u(one)) u(two)')
})

test('OpenAI: the AI SDK, which sends item references, continues with the referenced items', async () => {
  const { server } = await serve()
  const sdk = createOpenAI({ baseURL: server.base, apiKey: 'none' }).responses(model)
  const messages: ModelMessage[] = [{ role: 'user', content: 'one' }]
  const first = await generateText({ model: sdk, messages, maxRetries: 0 })
  messages.push(...first.response.messages, { role: 'user', content: 'two' })
  const second = await generateText({ model: sdk, messages, maxRetries: 0 })
  expect(second.text).toBe('u(one) a(u(one)) u(two)')
})

describe('OpenAI: the conversations API', () => {
  test('stores metadata, and passes added items to the next run and to no other', async () => {
    const { client } = await serve()
    const items = [{ type: 'message' as const, role: 'user' as const, content: 'zero' }]
    const created = await client.conversations.create({ metadata: { topic: 'kelp' }, items })
    expect(created).toMatchObject({ object: 'conversation', metadata: { topic: 'kelp' } })
    const ask = async (input: string, key: string): Promise<string> => {
      const body = { model, input, conversation: created.id }
      return (await client.responses.create(body, { headers: { 'idempotency-key': key } })).output_text
    }
    expect(await ask('one', 'k1')).toBe('u(zero) u(one)')
    expect(await ask('one', 'k1')).toBe('u(zero) u(one)')
    await client.conversations.items.create(created.id, { items: [{ type: 'message', role: 'user', content: 'more' }] })
    expect(await ask('two', 'k2')).toMatch(/u\(more\) u\(two\)$/)
    expect(await ask('three', 'k3')).toMatch(/a\([^ ]+ u\(three\)$/)
    const updated = await client.conversations.update(created.id, { metadata: { topic: 'tide' } })
    expect(updated.metadata).toEqual({ topic: 'tide' })
    expect(await client.conversations.retrieve(created.id)).toEqual(updated)
  })

  test('keeps the rest of the conversation when answers are among the added items', async () => {
    const { client } = await serve()
    const { id } = await client.conversations.create({})
    await client.responses.create({ model, input: 'one', conversation: id })
    await client.conversations.items.create(id, {
      items: [
        { type: 'message', role: 'user', content: 'more' },
        { type: 'message', role: 'assistant', content: 'noted' },
      ],
    })
    const { output_text: spoken } = await client.responses.create({ model, input: 'two', conversation: id })
    expect(spoken).toBe('u(one) a(u(one)) u(more) a(noted) u(two)')
  })

  test('lists items page by page in both directions', async () => {
    const { client } = await serve()
    const { id } = await client.conversations.create({ items: [{ type: 'message', role: 'user', content: 'zero' }] })
    for (const input of ['one', 'two']) await client.responses.create({ model, input, conversation: id })
    const list = async (order: 'asc' | 'desc', limit: number): Promise<string[]> => {
      const texts: string[] = []
      for await (const item of client.conversations.items.list(id, { order, limit }))
        if (item.type === 'message')
          texts.push(`${item.role}: ${(item.content[0] as { text: string }).text.split(' ')[0]}`)
      return texts
    }
    const all = await list('asc', 100)
    expect(all[0]).toBe('user: zero')
    expect(all.filter((text) => text.startsWith('assistant'))).toHaveLength(2)
    for (const limit of [1, 2, 3]) expect(await list('asc', limit)).toEqual(all)
    for (const limit of [1, 2, 100]) expect(await list('desc', limit)).toEqual(all.toReversed())
  })

  test('finds and removes single items, but not the output of a run', async () => {
    const { client } = await serve()
    const { id } = await client.conversations.create({ items: [{ type: 'message', role: 'user', content: 'zero' }] })
    const response = await client.responses.create({ model, input: 'one', conversation: id })
    const spoken = response.output[0]!.id!
    expect(await client.conversations.items.retrieve(spoken, { conversation_id: id })).toMatchObject({ id: spoken })
    await expect(client.conversations.items.delete(spoken, { conversation_id: id })).rejects.toMatchObject({
      status: 422,
    })
    const [added] = (await client.conversations.items.list(id, { order: 'asc' })).data
    await client.conversations.items.delete(added!.id!, { conversation_id: id })
    const gone = client.conversations.items.retrieve(added!.id!, { conversation_id: id })
    await expect(gone).rejects.toMatchObject({ status: 404 })
  })

  test('removes a conversation with its runs', async () => {
    const { server, client } = await serve()
    const { id } = await client.conversations.create({})
    await client.responses.create({ model, input: 'one', conversation: id })
    expect(await client.conversations.delete(id)).toMatchObject({ id, deleted: true })
    await expect(client.conversations.retrieve(id)).rejects.toMatchObject({ status: 404 })
    expect(await runsOf(server)).toEqual([])
  })
})

test('[SUB-2] OpenAI: the items of a conversation whose events were trimmed are marked as incomplete', async () => {
  const store = createMemoryStore()
  const server = await serveOpenAi({ components: [rememberer], store })
  const client = new OpenAI({ baseURL: server.base, apiKey: 'none', maxRetries: 0 })
  await client.responses.create({ model, input: 'one', conversation: 'talk' })
  const whole = await call(server, 'GET', '/v1/conversations/talk/items')
  expect(whole.body).not.toHaveProperty('events_trimmed')
  const [run] = await runsOf(server)
  const { events } = await getRun(server, run!.id)
  await store.trim(run!.id, events - 1)
  const { body } = await call<{ data: unknown[] }>(server, 'GET', '/v1/conversations/talk/items')
  expect(body).toMatchObject({ data: [], events_trimmed: true })
})
