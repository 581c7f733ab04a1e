/** The console's folds of a log: the conversation, and durations. */
import { describe, expect, test } from 'vitest'
import type { Block } from '../../console/run/blocks.ts'
import { ConversationBlocks } from '../../console/run/conversation-blocks.ts'
import { type Row, RunSpans } from '../../console/run/spans.ts'
import { inTree } from '../../console/run/tree.ts'
import { agent } from '../../src/agents/agent.ts'
import { parallel, step as flowStep, workflow } from '../../src/agents/workflow/index.ts'
import { createEvent } from '../../src/core/ports/component.ts'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import { RunStructure } from '../../src/core/structure/run-structure.ts'
import { openNode, subject } from '../support/node.ts'

function structureOf(log: readonly LoggedEvent[]): RunStructure {
  const structure = new RunStructure()
  for (const event of log) structure.apply(event)
  return structure
}

function treeOf(log: readonly LoggedEvent[]): readonly Block[] {
  const structure = structureOf(log)
  return inTree(new ConversationBlocks(structure).list(), structure.actors)
}

function rowsOf(log: readonly LoggedEvent[]): Row[] {
  const spans = new RunSpans(structureOf(log))
  spans.apply(log)
  return spans.rows()
}

function saidIn(log: readonly LoggedEvent[]): { text: string; discarded: boolean }[] {
  return new ConversationBlocks(structureOf(log))
    .list()
    .flatMap((block) => (block.kind === 'text' ? [{ text: block.text, discarded: block.discarded }] : []))
}

/** A reusable barrier: each call waits until `size` calls have arrived. */
function meetingOf(size: number): () => Promise<void> {
  let present = 0
  let { promise, resolve } = Promise.withResolvers<void>()
  return () => {
    const all = promise
    if (++present === size) {
      resolve()
      present = 0
      ;({ promise, resolve } = Promise.withResolvers<void>())
    }
    return all
  }
}

describe('console: the conversation', () => {
  test('shows a failed stage’s text as retracted, and the text before and after it as standing', async () => {
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

  test('retracts the text of one actor, and not that of another in the meantime', async () => {
    const memberSpoke = Promise.withResolvers<void>()
    const callerSpoke = Promise.withResolvers<void>()
    const member = agent<unknown>({
      id: 'member',
      async *run() {
        yield 'of the member'
        memberSpoke.resolve()
        await callerSpoke.promise
        throw new Error('no')
      },
    })
    const node = openNode({
      components: [
        subject(async function* (_input, { call }) {
          const calling = call(member, null, { retractFailure: true }).catch(() => {})
          await memberSpoke.promise
          yield 'own'
          callerSpoke.resolve()
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

  test('cuts a text where its retraction begins, if that is in the middle of it', () => {
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

  test('joins the pieces of two concurrent actors separately', async () => {
    const meet = meetingOf(2)
    const speaker = (id: string) =>
      agent<unknown>({
        id,
        async *run() {
          for (const word of ['a ', 'b ', 'c']) {
            yield `${id}-${word}`
            await meet()
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
    const log = await node.ended(await node.start('subject'))
    const texts = saidIn(log).map(({ text }) => text)
    expect(texts.toSorted()).toEqual(['x-a x-b x-c', 'y-a y-b y-c'])
  })
})

describe('console: the tree', () => {
  test('has each member’s text below it, also for concurrent members', async () => {
    const below = agent<unknown>({
      id: 'below',
      async *run() {
        yield 'from below'
      },
    })
    const meet = meetingOf(2)
    const member = (id: string) =>
      agent<unknown>({
        id,
        async *run(_input, { call }) {
          yield `${id} one. `
          await meet()
          await call(below, null)
          yield `${id} two.`
        },
      })
    const node = openNode({
      components: [
        subject(async function* (_input, { within }) {
          yield 'first'
          await Promise.all(['x', 'y'].map((id) => within(id).call(member(id), null)))
          yield 'last'
        }),
      ],
    })
    const shown = treeOf(await node.ended(await node.start('subject'))).flatMap((block) => {
      if (block.kind === 'member') return [`[${block.component}]`]
      return block.kind === 'text' ? [block.text] : []
    })
    const of = (id: string): string[] => [`[${id}]`, `${id} one. `, '[below]', 'from below', `${id} two.`]
    expect(shown).toEqual(['first', ...of('x'), ...of('y'), 'last'])
  })
})

describe('console: a workflow', () => {
  const looked = Promise.withResolvers<void>()
  const inner = agent<unknown>({
    id: 'inner',
    async *run() {
      await looked.promise
      yield 'said'
    },
  })
  const flow = workflow({
    id: 'subject',
    steps: [
      parallel({
        name: 'both',
        branches: [flowStep({ name: 'ask', run: inner }), flowStep({ name: 'look', run: () => (looked.resolve(), 1) })],
      }),
    ],
  })

  test('has a step’s work below the step, in the conversation and in the timeline', async () => {
    const node = openNode({ components: [flow] })
    const log = await node.ended(await node.start('subject'))
    const shown = treeOf(log).flatMap((block) => {
      if (block.kind === 'step') return [block.name]
      return block.kind === 'member' ? [`[${block.component}]`] : block.kind === 'text' ? [block.text] : []
    })
    expect(shown).toEqual(['both', 'ask', '[inner]', 'said', 'look'])
    expect(rowsOf(log).map(({ name, depth }) => [name, depth])).toEqual([
      ['Attempt 1', 0],
      ['both (parallel)', 0],
      ['ask (agent)', 1],
      ['inner', 2],
      ['look', 1],
    ])
  })
})

describe('console: the timeline', () => {
  test('shows retracted output in place, and an interrupted request as such', async () => {
    const node = openNode({
      components: [
        subject(async function* (_input, { stage }) {
          yield 'stays'
          await stage('try', async function* () {
            yield createEvent('model.requested', { request: 'r', model: 'm' })
            yield 'goes'
            throw new Error('no')
          }).catch(() => {})
        }),
      ],
    })
    const log = await node.ended(await node.start('subject'))
    const rows = rowsOf(log)
    const from = log.find(({ type }) => type === 'step.started')!.index
    expect(rows.map(({ kind, name, state }) => [kind, name, state])).toEqual([
      ['attempt', 'Attempt 1', 'done'],
      ['step', 'try', 'failed'],
      ['model', 'm', 'discarded'],
      ['retracted', 'failed', 'discarded'],
    ])
    expect(rows.at(-1)!.index).toBeGreaterThanOrEqual(from)
  })

  test('shows a restarted attempt as retracted, with all of its work', () => {
    const common = { run: 'run_1', time: '2026-01-01T00:00:00.000Z' }
    const data = { attempt: 1, from: 2, scope: 'all', ledger: 'dropped', reason: 'interrupted' }
    const log = [
      { ...common, index: 0, type: 'run.created', data: { component: 'c', input: null, session: 's' } },
      { ...common, index: 1, type: 'run.started', data: { attempt: 1 } },
      { ...common, index: 2, type: 'tool.called', data: { call: 'a', name: 'search', input: {} } },
      { ...common, index: 3, type: 'tool.completed', data: { call: 'a', name: 'search', output: 1 } },
      { ...common, index: 4, type: 'attempt.discarded', data },
      { ...common, index: 5, type: 'run.started', data: { attempt: 2 } },
      { ...common, index: 6, type: 'run.completed', data: {} },
    ] as readonly LoggedEvent[]
    expect(rowsOf(log).map(({ name, state }) => [name, state])).toEqual([
      ['Attempt 1', 'discarded'],
      ['search', 'discarded'],
      ['interrupted', 'discarded'],
      ['Attempt 2', 'done'],
    ])
  })

  test('has each piece of work under its parent, with its end', async () => {
    const member = agent<unknown>({
      id: 'member',
      async *run(_input, { tool }) {
        await tool({ name: 'search', input: {} }, () => 'found')
      },
    })
    const node = openNode({
      components: [
        subject(async function* (_input, { step, call }) {
          yield createEvent('model.requested', { request: 'r', model: 'm' })
          yield createEvent('model.responded', { request: 'r', model: 'm' })
          await step('prepare', () => 1)
          await call(member, null)
          await step('fail', () => Promise.reject(new Error('no'))).catch(() => {})
        }),
      ],
    })
    expect(
      rowsOf(await node.ended(await node.start('subject'))).map(({ kind, name, depth, state }) => [
        kind,
        name,
        depth,
        state,
      ]),
    ).toEqual([
      ['attempt', 'Attempt 1', 0, 'done'],
      ['model', 'm', 0, 'done'],
      ['step', 'prepare', 0, 'done'],
      ['member', 'member', 0, 'done'],
      ['tool', 'search', 1, 'done'],
      ['step', 'fail', 0, 'failed'],
    ])
  })
})
