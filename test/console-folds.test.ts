/** What the console makes of a log: the conversation, and what took how long. */
import { describe, expect, test } from 'vitest'
import { ConversationFold } from '../console/run/conversation-fold.ts'
import { SpanFold } from '../console/run/spans.ts'
import { agent } from '../src/agents/generator.ts'
import { emit } from '../src/core/agent.ts'
import type { LoggedEvent } from '../src/core/event.ts'
import { openNode, subject } from './support/node.ts'

function saidIn(log: readonly LoggedEvent[]): { text: string; discarded: boolean }[] {
  const fold = new ConversationFold()
  fold.apply(log)
  return fold.blocks.flatMap((block) =>
    block.kind === 'text' ? [{ text: block.text, discarded: block.discarded }] : [],
  )
}

describe('the conversation', () => {
  test('shows what a failed stage said as withdrawn, and what came before and after it as standing', async () => {
    const node = openNode({
      components: [
        subject(async function* (_input, { stage }) {
          yield 'before '
          await stage('try', async function* () {
            yield 'gone'
            throw new Error('no')
          }).catch(() => {})
          yield 'after'
        }),
      ],
    })
    const log = await node.ended(await node.start('subject'))
    expect(saidIn(log)).toEqual([
      { text: 'before ', discarded: false },
      { text: 'gone', discarded: true },
      { text: 'after', discarded: false },
    ])
  })

  test('withdraws what one actor said, and not what another said meanwhile', async () => {
    const member = agent<unknown>({
      id: 'member',
      async *run(_input, { sleep }) {
        yield 'of the member'
        await sleep(50)
        throw new Error('no')
      },
    })
    const node = openNode({
      components: [
        subject(async function* (_input, { call, sleep }) {
          const calling = call(member, null, { withdrawFailure: true }).catch(() => {})
          await sleep(20)
          yield 'own'
          await calling
        }),
      ],
    })
    const log = await node.ended(await node.start('subject'))
    expect(log.map(({ type }) => type)).toContain('attempt.discarded')
    expect(saidIn(log)).toEqual([
      { text: 'of the member', discarded: true },
      { text: 'own', discarded: false },
    ])
  })

  test('cuts a text where its withdrawal begins, if that is in the middle of it', () => {
    const common = { run: 'run_1', time: '2026-01-01T00:00:00.000Z' }
    const log = [
      { ...common, index: 0, type: 'text.delta', data: { text: 'stays ' } },
      { ...common, index: 1, type: 'text.delta', data: { text: 'goes' } },
      {
        ...common,
        index: 2,
        type: 'attempt.discarded',
        data: { attempt: 1, from: 1, scope: 'own', ledger: 'kept', reason: 'r' },
      },
    ] as readonly LoggedEvent[]
    expect(saidIn(log)).toEqual([
      { text: 'stays ', discarded: false },
      { text: 'goes', discarded: true },
    ])
  })

  test('joins the pieces of each of two that speak at once', async () => {
    const speaker = (id: string) =>
      agent<unknown>({
        id,
        async *run(_input, { sleep }) {
          for (const word of ['a ', 'b ', 'c']) {
            yield `${id}-${word}`
            await sleep(2)
          }
        },
      })
    const node = openNode({
      components: [
        subject(async function* (_input, { within }) {
          await Promise.all(['x', 'y'].map((id) => within(id).call(speaker(id), null)))
        }),
      ],
    })
    const texts = saidIn(await node.ended(await node.start('subject'))).map(({ text }) => text)
    expect(texts.toSorted()).toEqual(['x-a x-b x-c', 'y-a y-b y-c'])
  })
})

describe('the timeline', () => {
  test('has each piece of work under what it belongs to, with its end', async () => {
    const member = agent<unknown>({
      id: 'member',
      async *run(_input, { tool }) {
        await tool({ name: 'search', input: {} }, () => 'found')
      },
    })
    const node = openNode({
      components: [
        subject(async function* (_input, { step, call }) {
          yield emit('model.requested', { request: 'r', model: 'm' })
          yield emit('model.responded', { request: 'r', model: 'm' })
          await step('prepare', () => 1)
          await call(member, null)
          await step('fail', () => Promise.reject(new Error('no'))).catch(() => {})
        }),
      ],
    })
    const fold = new SpanFold()
    fold.apply(await node.ended(await node.start('subject')))
    expect(fold.rows().map(({ kind, name, depth, state }) => [kind, name, depth, state])).toEqual([
      ['attempt', 'Attempt 1', 0, 'done'],
      ['model', 'm', 0, 'done'],
      ['step', 'prepare', 0, 'done'],
      ['member', 'member', 0, 'done'],
      ['tool', 'search', 1, 'done'],
      ['step', 'fail', 0, 'failed'],
    ])
  })
})
