/** Recovery of upstream runs: received output is logged once, and the rest is requested by the declared recovery. */
import { describe, expect, test } from 'vitest'
import { chunk, type Play, sse, startChatServer } from '../../../test/gateway/chat-server.ts'
import { textOf, typesOf } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import type { Component } from '../../core/ports/component.ts'
import { UpstreamPool } from '../shared/upstream-pool.ts'
import { chatUpstream, type ChatUpstreamDefinition } from './chat-agent.ts'

const STREAM = { 'content-type': 'text/event-stream' }

function subject(url: string, more: Partial<ChatUpstreamDefinition> = {}): Component {
  return chatUpstream({
    id: 'subject',
    pool: new UpstreamPool({ urls: [url] }),
    model: 'm',
    upstream: { protocol: 'openai', name: 'chat', id: 'm' },
    ...more,
  })
}

/** Content of the upstream's chunks that are not retracted. */
function chunksIn(log: readonly LoggedEvent[]): string[] {
  const discarded = log.flatMap((event) => (event.type === 'attempt.discarded' ? [event] : []))
  return log.flatMap((event) => {
    if (event.type !== 'upstream.received') return []
    if (discarded.some(({ index, data }) => data.from <= event.index && event.index < index)) return []
    const { choices } = event.data.data as { choices: { delta: { content?: string } }[] }
    return choices[0]?.delta.content ?? []
  })
}

/** The first response is cut after these words, later ones are complete. */
function breakingOff(first: readonly string[], later: readonly string[]): Play {
  let requests = 0
  return (response) => {
    response.writeHead(200, STREAM)
    const isFirst = requests++ === 0
    response.write(sse(...(isFirst ? first : later).map((content) => chunk({ content }))))
    if (!isFirst) response.end(sse(chunk({}, 'stop'), '[DONE]'))
  }
}

describe('[RUN-1] chat completions behind the gateway: a worker dies within an answer', () => {
  test('recovery fail: the run fails with its text so far, and no second request is sent', async () => {
    const chat = await startChatServer({ m: breakingOff(['one ', 'two '], []) })
    const world = new World(subject(chat.url))
    const id = await world.orphan(2, 'go')
    const log = await world.worker().ended(id)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'interrupted' } } })
    expect(chunksIn(log)).toEqual(['one ', 'two '])
    expect(chat.bodies).toHaveLength(1)
  })

  test('recovery retry: the upstream is asked again, and its first answer is retracted with its chunks', async () => {
    const chat = await startChatServer({ m: breakingOff(['one ', 'two '], ['one ', 'TWO ', 'three']) })
    const world = new World(subject(chat.url, { recovery: 'retry' }))
    const id = await world.orphan(2, 'go')
    const log = await world.worker().ended(id)
    expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: 'one TWO three' } })
    expect(textOf(log)).toBe('one TWO three')
    expect(chunksIn(log)).toEqual(['one ', 'TWO ', 'three'])
    expect(chat.bodies).toHaveLength(2)
  })
})

describe('[RUN-1] [RUN-5] chat completions behind the gateway: a worker dies while the run waits for the result of a tool', () => {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }

  /** Emits these words before it calls the tool, in the first attempt and later, and then the tool's result. */
  function calling(first: readonly string[], later: readonly string[]): Play {
    let requests = 0
    return (response, body) => {
      response.writeHead(200, STREAM)
      const found = (body['messages'] as { role: string; content: string }[]).find(({ role }) => role === 'tool')
      const words = found === undefined ? (requests++ === 0 ? first : later) : ['It is ', found.content]
      response.write(sse(...words.map((content) => chunk({ content }))))
      if (found === undefined) response.end(sse(chunk({ tool_calls: [call] }), chunk({}, 'tool_calls'), '[DONE]'))
      else response.end(sse(chunk({}, 'stop'), '[DONE]'))
    }
  }

  async function answeredElsewhere(first: readonly string[], later: readonly string[]): Promise<LoggedEvent[]> {
    const chat = await startChatServer({ m: calling(first, later) })
    const world = new World(subject(chat.url))
    const id = await world.orphan('paused', 'go')
    const second = world.worker()
    const { waiting } = (await second.get(id)).run
    await second.answer(id, { [waiting![0]!.id]: 'there' })
    return second.ended(id)
  }

  test('an upstream that repeats its words is in the log once', async () => {
    const log = await answeredElsewhere(['Let me ', 'look. '], ['Let me ', 'look. '])
    expect(textOf(log)).toBe('Let me look. It is there')
    expect(chunksIn(log)).toEqual(['Let me ', 'look. ', 'It is ', 'there'])
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('an upstream that uses other words is retracted from there, and its question is not asked again', async () => {
    const log = await answeredElsewhere(['Let me ', 'look. '], ['Let me ', 'see, ', 'now. '])
    expect(textOf(log)).toBe('Let me see, now. It is there')
    expect(chunksIn(log)).toEqual(['Let me ', 'see, ', 'now. ', 'It is ', 'there'])
    expect(log.filter(({ type }) => type === 'run.paused')).toHaveLength(1)
  })
})
