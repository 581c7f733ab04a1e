/** Background responses of a provider: a recovered run reattaches and requests no second response. */
import { createOpenAI } from '@ai-sdk/openai'
import { tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openNode, type TestNode, textOf, typesOf } from '../../../../test/support/node.ts'
import { openResponsesProvider, type ResponsesProvider } from '../../../../test/support/responses-provider.ts'
import { until } from '../../../../test/support/until.ts'
import { World } from '../../../../test/support/world.ts'
import type { Component } from '../../../core/ports/component.ts'
import type { LoggedEvent } from '../../../core/model/event.ts'
import { team } from '../../team/team.ts'
import { modelAgent, type ModelAgentDefinition } from '../agent.ts'
import { resumable } from './reattach.ts'
import { scriptedModel } from '../scripted/scripted.ts'

const WORDS = ['Once ', 'upon ', 'a ', 'time ']

function agentOf({ url }: ResponsesProvider, more: Partial<ModelAgentDefinition> = {}): Component {
  const model = resumable((fetch) => createOpenAI({ apiKey: 'key', baseURL: url, fetch }).responses('gpt-5.4'))
  return modelAgent({ id: 'subject', model, retryDelayMs: 1, ...more })
}

/** A run that has received half of its response. */
async function halfAnswered(node: TestNode, provider: ResponsesProvider): Promise<string> {
  const id = await node.start('subject', 'hello')
  await started(provider)
  provider.say(...WORDS.slice(0, 2))
  await node.emitted(id, 'text.delta', 2)
  return id
}

/** The same, and its worker died. */
async function crashed(provider: ResponsesProvider, more: Partial<ModelAgentDefinition> = {}) {
  const world = new World(agentOf(provider, more))
  const first = world.worker()
  const id = await halfAnswered(first, provider)
  world.kill()
  return { id, world }
}

function started(provider: ResponsesProvider, times = 1): Promise<unknown> {
  return until('the provider was asked', () => provider.started >= times)
}

function textsOf(log: readonly LoggedEvent[]): string[] {
  return log.flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : []))
}

/** Type and data of each event. */
function unlike(log: readonly LoggedEvent[]): string[] {
  return log.map(({ type, data }) => JSON.stringify([type, data]))
}

test('[RUN-1] [LOG-1] background mode: after a crash within the text the same generation continues, with no event twice', async () => {
  const provider = await openResponsesProvider()
  const { id, world } = await crashed(provider)
  provider.say(WORDS[2]!) // while nobody listens
  const second = world.worker()
  await second.emitted(id, 'text.delta', 3)
  provider.say(WORDS[3]!)
  provider.finish()
  const log = await second.ended(id)
  expect(provider.started).toBe(1)
  expect(log.at(-1)).toMatchObject({
    type: 'run.completed',
    data: { output: WORDS.join(''), usage: { totalTokens: 10 } },
  })
  expect(textsOf(log)).toEqual(WORDS)
  expect(typesOf(log)).not.toContain('attempt.discarded')
  expect(new Set(unlike(log)).size).toBe(log.length)
  expect(log.map(({ index }) => index)).toEqual([...log.keys()])
  expect(provider.calls('POST', /cancel$/)).toEqual([])
})

test('background mode: a crash after the provider finished, and before the run did, costs nothing', async () => {
  const provider = await openResponsesProvider()
  const { id, world } = await crashed(provider)
  provider.say(...WORDS.slice(2))
  provider.finish()
  const log = await world.worker().ended(id)
  expect(provider.started).toBe(1)
  expect(log.at(-1)!.data).toMatchObject({ output: WORDS.join('') })
})

test('background mode: a dead worker does not cancel what another one continues', async () => {
  const provider = await openResponsesProvider()
  const { id, world } = await crashed(provider)
  const second = world.worker()
  await until('the second worker listens', () => provider.calls('GET', /resp_/).length > 0)
  provider.say(...WORDS.slice(2)) // the first one finds out that it may not write
  provider.finish()
  await second.ended(id)
  expect(provider.calls('POST', /cancel$/)).toEqual([])
})

test('background mode: a run that is handed over at shutdown continues with the same generation', async () => {
  const provider = await openResponsesProvider()
  const world = new World(agentOf(provider))
  const first = world.worker()
  const id = await halfAnswered(first, provider)
  await first.service.drain()
  const second = world.worker()
  provider.say(...WORDS.slice(2))
  provider.finish()
  expect((await second.ended(id)).at(-1)!.data).toMatchObject({ output: WORDS.join('') })
  expect(provider.started).toBe(1)
  expect(provider.calls('POST', /cancel$/)).toEqual([])
})

test('background mode: a broken connection is resumed from the last number, without a gap', async () => {
  const provider = await openResponsesProvider()
  const node = openNode({ components: [agentOf(provider, { retries: 0 })] })
  const id = await halfAnswered(node, provider)
  provider.drop()
  provider.say(...WORDS.slice(2))
  provider.finish()
  const log = await node.ended(id)
  expect(textOf(log)).toBe(WORDS.join(''))
  expect(typesOf(log)).not.toContain('attempt.discarded')
  expect(provider.started).toBe(1)
  expect(provider.calls('GET', /resp_/)).toMatchObject([{ query: { stream: 'true', starting_after: '3' } }])
  expect(provider.seen.every(({ headers }) => headers.authorization === 'Bearer key')).toBe(true)
})

test('background mode: a response that the provider no longer has is requested anew, and its text retracted', async () => {
  const provider = await openResponsesProvider()
  const { id, world } = await crashed(provider, { retries: 0 })
  provider.forget()
  const second = world.worker()
  await started(provider, 2)
  provider.say('Anew ', 'indeed')
  provider.finish()
  const log = await second.ended(id)
  expect(provider.started).toBe(2)
  expect(textOf(log)).toBe('Anew indeed')
  expect(typesOf(log)).toContain('attempt.discarded')
  expect(log.find(({ type }) => type === 'step.failed')?.data).toMatchObject({
    error: { message: /404/, details: { reason: 'response_gone', response: 'resp_1' } },
  })
  expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: 'Anew indeed' } })
})

describe('background mode: a response that the provider no longer streams', () => {
  test('is fetched whole by the next worker', async () => {
    const provider = await openResponsesProvider()
    const { id, world } = await crashed(provider)
    provider.expire()
    const second = world.worker()
    await until('it is looked at', () => provider.calls('GET', /resp_/).length > 1)
    provider.say(...WORDS.slice(2))
    provider.finish()
    const log = await second.ended(id)
    expect(provider.started).toBe(1)
    expect(textOf(log)).toBe(WORDS.join(''))
    expect(log.at(-1)!.data).toMatchObject({ output: WORDS.join(''), usage: { totalTokens: 10 } })
  })

  test('is fetched when the connection breaks, and only the rest is emitted', async () => {
    const provider = await openResponsesProvider()
    const node = openNode({ components: [agentOf(provider, { retries: 0 })] })
    const id = await halfAnswered(node, provider)
    provider.expire()
    provider.say(...WORDS.slice(2))
    provider.finish()
    const log = await node.ended(id)
    expect(provider.started).toBe(1)
    expect(textsOf(log)).toEqual([...WORDS.slice(0, 2), WORDS.slice(2).join('')])
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })

  test('is fetched with its reasoning and its tool calls', async () => {
    const provider = await openResponsesProvider()
    const add = tool({ inputSchema: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a + b })
    const { id, world } = await crashed(provider, { tools: { add } })
    provider.last.output = [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'add',
        arguments: '{"a":1,"b":2}',
        status: 'completed',
      },
    ]
    provider.expire()
    provider.finish()
    const second = world.worker()
    await started(provider, 2)
    provider.say('Three')
    provider.finish()
    const log = await second.ended(id)
    expect(log.find(({ type }) => type === 'reasoning.delta')?.data).toMatchObject({ text: 'hm' })
    expect(log.find(({ type }) => type === 'tool.completed')?.data).toMatchObject({ call: 'call_1', output: 3 })
    expect(log.at(-1)!.data).toMatchObject({ output: 'Three' })
    expect(provider.started).toBe(2) // one for each turn
  })

  test('is requested anew if it was cancelled meanwhile', async () => {
    const provider = await openResponsesProvider()
    const { id, world } = await crashed(provider, { retries: 0 })
    provider.last.status = 'cancelled'
    provider.expire()
    const second = world.worker()
    await started(provider, 2)
    provider.say('Anew')
    provider.finish()
    expect((await second.ended(id)).at(-1)!.data).toMatchObject({ output: 'Anew' })
  })
})

test('[RUN-3] background mode: a response that failed at the provider meanwhile is retried like any other', async () => {
  const provider = await openResponsesProvider()
  const { id, world } = await crashed(provider, { retries: 1 })
  provider.fail('out of luck')
  const second = world.worker()
  await started(provider, 2)
  provider.fail('out of luck again')
  const log = await second.ended(id)
  expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { message: /out of luck again/ } } })
  expect(textOf(log)).toBe('')
})

test('background mode: a provider’s error is reported as is, and its retry delay is respected', async () => {
  const provider = await openResponsesProvider()
  provider.refusals.push({ status: 429, headers: { 'retry-after-ms': '1' } })
  const node = openNode({ components: [agentOf(provider)] })
  const id = await node.start('subject', 'hello')
  await started(provider, 2)
  await until('it is under way', () => provider.generations.length > 0)
  provider.say('done')
  provider.finish()
  expect((await node.ended(id)).at(-1)!.data).toMatchObject({ output: 'done' })
  provider.refusals.push({ status: 401 })
  const refused = await node.ended(await node.start('subject', 'hello'))
  expect(refused.at(-1)).toMatchObject({ data: { error: { message: 'not now', details: { status: 401 } } } })
})

test('[RUN-2] background mode: a stop cancels the generation at the provider', async () => {
  const provider = await openResponsesProvider()
  const node = openNode({ components: [agentOf(provider)] })
  const id = await node.start('subject', 'hello')
  await started(provider)
  provider.say(...WORDS)
  await node.emitted(id, 'text.delta', 4)
  await node.stop(id)
  expect((await node.ended(id)).at(-1)!.type).toBe('run.cancelled')
  await until('it is cancelled', () => provider.calls('POST', /\/resp_[^/]+\/cancel$/).length === 1)
})

test("[RUN-2] background mode: a stop of a team cancels its member's generation", async () => {
  const provider = await openResponsesProvider()
  const input = { member: 'subject', task: 'hello' }
  const model = scriptedModel({ script: () => [{ type: 'tool', name: 'delegate_task_to_member', input }] })
  const node = openNode({ components: [team({ id: 'team', members: [agentOf(provider)], model })] })
  const id = await node.start('team', 'hello')
  await started(provider)
  provider.say(...WORDS)
  await node.emitted(id, 'text.delta', 4)
  await node.stop(id)
  expect((await node.ended(id)).at(-1)!.type).toBe('run.cancelled')
  await until('it is cancelled', () => provider.calls('POST', /cancel$/).length === 1)
})
