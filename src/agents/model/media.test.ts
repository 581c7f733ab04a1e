/** Files, images, reasoning and sources, into a model and out of it. */
import { createOpenAI } from '@ai-sdk/openai'
import { tool } from 'ai'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { resultOf } from '../../../test/support/workflow-helpers.ts'
import { openNode } from '../../../test/support/node.ts'
import { aborted } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { EventData, EventType, LoggedEvent } from '../../core/model/event.ts'
import { modelAgent } from './agent.ts'
import { ResponseParts } from './response-parts.ts'
import type { ScriptedCall } from './scripted/scripted-call.ts'
import { type ScriptedOutput, scriptedModel } from './scripted/scripted.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

async function logOf(script: (call: ScriptedCall) => ScriptedOutput, input: unknown = 'hi'): Promise<LoggedEvent[]> {
  const look = tool({ inputSchema: z.object({}), execute: () => 'looked' })
  const subject = modelAgent({ id: 'subject', model: scriptedModel({ script }), tools: { look } })
  const node = openNode({ components: [subject] })
  return node.ended(await node.start('subject', input))
}

function dataOf<Type extends EventType>(log: readonly LoggedEvent[], type: Type): EventData[Type][] {
  return log.filter((event) => event.type === type).map(({ data }) => data as EventData[Type])
}

describe('model agent: input to the model', () => {
  const address = 'https://example.com/cat.png'
  const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PIXEL } }
  const linked = { type: 'file', mediaType: 'image/png', data: { type: 'url', url: address } }

  test.each<[string, unknown, unknown]>([
    ['a file with its content', { text: 'x', files: [{ mediaType: 'image/png', data: PIXEL }] }, image],
    ['a file by its address', { text: 'x', files: [{ mediaType: 'image/png', url: address }] }, linked],
    [
      'a document with a name',
      { text: 'x', files: [{ mediaType: 'application/pdf', data: 'JVBERi0=', name: 'a.pdf' }] },
      { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', data: { type: 'data', data: 'JVBERi0=' } },
    ],
    [
      'a file of a message',
      { messages: [{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: PIXEL }] }] },
      image,
    ],
    [
      'a file of a message by its address',
      { messages: [{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: address }] }] },
      linked,
    ],
    [
      'a file of a message in the longer form, by its address',
      {
        messages: [
          { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url: address } }] },
        ],
      },
      linked,
    ],
    ['an image of a message', { messages: [{ role: 'user', content: [{ type: 'image', image: PIXEL }] }] }, image],
  ])('has %s', async (_, input, part) => {
    const log = await logOf(({ prompt }) => JSON.stringify(prompt.at(-1)!.content), input)
    const content = JSON.parse(resultOf(log) as string) as unknown[]
    expect(content.at(-1)).toMatchObject(part as object)
  })

  test('has an image in the format of a provider', async () => {
    const bodies: unknown[] = []
    const server = createServer((request, response) => {
      void (async () => {
        let text = ''
        for await (const chunk of request) text += String(chunk)
        bodies.push(JSON.parse(text))
        const chunk = { choices: [{ index: 0, delta: { role: 'assistant', content: 'a cat' }, finish_reason: 'stop' }] }
        response.setHeader('content-type', 'text/event-stream')
        response.end(`data: ${JSON.stringify({ id: 'x', created: 0, model: 'm', ...chunk })}\n\ndata: [DONE]\n\n`)
      })()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    const model = createOpenAI({ baseURL, apiKey: 'none' }).chat('gpt-4o')
    const node = openNode({ components: [modelAgent({ id: 'subject', model })] })
    const input = { text: 'what is it?', files: [{ mediaType: 'image/png', data: PIXEL }] }
    const log = await node.ended(await node.start('subject', input))
    expect(resultOf(log)).toBe('a cat')
    const content = [
      { type: 'text', text: 'what is it?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
    ]
    expect(bodies).toMatchObject([{ messages: [{ role: 'user', content }] }])
  })
})

describe('model agent: output of the model', () => {
  const shown: ScriptedOutput = [
    { type: 'reasoning', text: 'draw it' },
    { type: 'source', url: 'https://example.com/', title: 'Example' },
    { type: 'file', mediaType: 'image/png', data: PIXEL },
    { type: 'tool', name: 'look' },
  ]

  test('has files as artifacts, whatever form their bytes have', async () => {
    const bytes = new Uint8Array([1, 2, 3])
    const log = await logOf(() => [
      { type: 'file', mediaType: 'image/png', data: PIXEL },
      { type: 'file', mediaType: 'application/octet-stream', data: bytes },
      'done',
    ])
    const artifacts = dataOf(log, 'artifact.added')
    expect(artifacts).toMatchObject([
      { mediaType: 'image/png', bytes: PIXEL, last: true },
      { mediaType: 'application/octet-stream', bytes: 'AQID', last: true },
    ])
    expect(new Set(artifacts.map(({ artifact }) => artifact)).size).toBe(2)
  })

  test('has sources: pages by their URL, documents by their type', () => {
    const parts = new ResponseParts('request')
    const page = { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.com/' } as const
    const document = {
      type: 'source',
      sourceType: 'document',
      id: 's2',
      mediaType: 'application/pdf',
      title: 'A paper',
    } as const
    expect([parts.add(page), parts.add(document)].map((event) => event?.data)).toEqual([
      { source: 's1', url: 'https://example.com/' },
      { source: 's2', mediaType: 'application/pdf', title: 'A paper' },
    ])
  })

  test('is sent back in the next turn with its reasoning and files', async () => {
    const log = await logOf(({ turn, prompt }) => (turn === 1 ? shown : JSON.stringify(prompt.at(-2)!.content)))
    expect(JSON.parse(resultOf(log) as string)).toMatchObject([
      { type: 'reasoning', text: 'draw it' },
      { type: 'file', mediaType: 'image/png', data: { data: PIXEL } },
      { type: 'tool-call', toolName: 'look' },
    ])
    expect(dataOf(log, 'source.cited')).toHaveLength(1)
  })

  test('is sent back also in a recovered run', async () => {
    let hangs = true
    const look = tool({
      inputSchema: z.object({}),
      execute: async (_, { abortSignal }) => (hangs ? aborted(abortSignal!) : 'looked'),
    })
    const model = scriptedModel({
      script: ({ turn, prompt }) => (turn === 1 ? shown : JSON.stringify(prompt.at(-2)!.content)),
    })
    const tools = { look: { ...look, idempotent: true } }
    const world = new World(modelAgent({ id: 'subject', model, tools }))
    const first = world.worker()
    const id = await first.start('subject', 'hi')
    await first.emitted(id, 'tool.called')
    world.kill()
    hangs = false
    const log = await world.worker().ended(id)
    expect(JSON.parse(resultOf(log) as string)).toMatchObject([
      { type: 'reasoning', text: 'draw it' },
      { type: 'file', mediaType: 'image/png', data: { data: PIXEL } },
      { type: 'tool-call', toolName: 'look' },
    ])
    expect(dataOf(log, 'artifact.added')).toHaveLength(1)
  })
})
