/** Recovery matches each answer to its own question. */
import { describe, expect, test } from 'vitest'
import { aborted, subject, textOf, type TestNode, typesOf } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { AskOptions, Component } from '../ports/component.ts'

const limits = { replayWaitMs: 200 }

function asking(...questions: readonly (string | AskOptions)[]): Component {
  return subject(
    async function* (_, context) {
      for (const question of questions) yield `[${String(await context.ask(question))}]`
    },
    { recovery: 'resume', limits },
  )
}

/** A run that paused in `before`, lost its worker, and is served with `after`. */
async function changed(before: Component, after: Component): Promise<{ readonly id: string; readonly node: TestNode }> {
  const world = new World(before)
  const id = await world.orphan('paused')
  return { id, node: world.worker([after]) }
}

/** The only open question, once it differs from the given one. */
async function nextQuestion(node: TestNode, id: string, than: string): Promise<{ id: string; prompt: string }> {
  const { run } = await node.reached(id, (status) => status !== 'running')
  expect(run.waiting).toHaveLength(1)
  expect(run.waiting![0]!.id).not.toBe(than)
  return run.waiting![0]!
}

describe('[RUN-5] recovery: an answer to a question that the code no longer asks', () => {
  test('an unused answer is not given to another question: the new question is asked', async () => {
    const { id, node } = await changed(asking('Pay 5 dollars?'), asking('Delete the whole account?', 'Pay 5 dollars?'))
    await node.answer(id, { question: 'of course' })
    const asked = await nextQuestion(node, id, 'question')
    expect(asked.prompt).toBe('Delete the whole account?')
    await node.answer(id, { [asked.id]: 'never' })
    expect(textOf(await node.endedUnasked(id))).toBe('[never][of course]')
  })

  test('an unused answer cannot be given again: its question is not open', async () => {
    const { id, node } = await changed(asking('Pay 5 dollars?'), asking('Delete the whole account?'))
    await node.answer(id, { question: true })
    await nextQuestion(node, id, 'question')
    await expect(node.answer(id, { question: true })).rejects.toMatchObject({ code: 'conflict', status: 409 })
    expect((await node.get(id)).run.status).toBe('paused')
  })

  test('cannot be given to the same question of a later attempt, which has an id of its own', async () => {
    const world = new World(
      subject(
        async function* (_, { ask, attempt, signal }) {
          yield `[${String(await ask('Pay 5 dollars?'))}]`
          if (attempt === 1) await aborted(signal)
        },
        { recovery: 'retry' },
      ),
    )
    const first = world.worker()
    const id = await first.start('subject')
    await first.reached(id, 'paused')
    await first.answer(id, { question: 'yes' })
    await first.emitted(id, 'text.delta')
    world.kill()
    const second = world.worker()
    expect((await nextQuestion(second, id, 'question')).id).toBe('question#2')
    await expect(second.answer(id, { question: 'yes' })).rejects.toMatchObject({ code: 'conflict' })
  })

  test.each<[string, AskOptions, AskOptions]>([
    ['kind', { prompt: 'Go?', kind: 'input' }, { prompt: 'Go?', kind: 'approval' }],
    ['schema', { prompt: 'Go?' }, { prompt: 'Go?', schema: { type: 'boolean' } }],
    ['key', { prompt: 'Go?', key: 'a' }, { prompt: 'Go?', key: 'b' }],
    ['kind, with a key', { prompt: 'Go?', key: 'a' }, { prompt: 'Go?', key: 'a', kind: 'approval' }],
    ['schema, with a key', { prompt: 'Go?', key: 'a' }, { prompt: 'Go?', key: 'a', schema: { type: 'boolean' } }],
  ])('an answer is not reused for a question with another %s', async (_, before, after) => {
    const { id, node } = await changed(asking(before), asking(after))
    await node.answer(id, { question: true })
    expect((await nextQuestion(node, id, 'question')).id).toBe('question#2')
  })
})

describe('[RUN-5] recovery: a question that replaces another one', () => {
  test('a question replaces another one although other new work has waited for longer', async () => {
    const effects: string[] = []
    const after = subject(
      async function* (_, context) {
        const buy = (what: string): Promise<string> =>
          context.tool({ name: 'buy', input: what }, () => (effects.push(what), what))
        yield (await Promise.all([buy('tea'), context.ask('With milk?'), buy('cups')])).join(', ')
      },
      { recovery: 'resume', limits },
    )
    const { id, node } = await changed(asking('With sugar?'), after)
    await node.answer(id, { question: 'yes' })
    const asked = await nextQuestion(node, id, 'question')
    expect(asked.prompt).toBe('With milk?')
    await node.answer(id, { [asked.id]: 'no' })
    expect(textOf(await node.endedUnasked(id))).toBe('tea, no, cups')
    expect(effects.toSorted()).toEqual(['cups', 'tea'])
  })
})

describe('[RUN-5] recovery: a recorded answer is reused', () => {
  test.each<[string, string | AskOptions, string | AskOptions]>([
    ['for the same question', 'Go?', 'Go?'],
    [
      'for a question with a key whose prompt was corrected',
      { prompt: 'Got?', key: 'go' },
      { prompt: 'Go?', key: 'go' },
    ],
    ['whatever its details', { prompt: 'Go?', details: 1 }, { prompt: 'Go?', details: 2 }],
  ])('a recorded answer is reused %s', async (_, before, after) => {
    const { id, node } = await changed(asking(before), asking(after))
    await node.answer(id, { question: 'yes' })
    const log = await node.endedUnasked(id)
    expect(textOf(log)).toBe('[yes]')
    expect(typesOf(log).filter((type) => type === 'run.paused')).toHaveLength(1)
  })

  test('concurrent questions that come in another order get their own answers', async () => {
    const both = (...prompts: readonly string[]): Component =>
      subject(
        async function* (_, context) {
          const answers = await Promise.all(prompts.map((prompt) => context.ask(prompt)))
          const byPrompt = prompts.map((prompt, at) => `${prompt} ${String(answers[at])}`)
          yield byPrompt.toSorted().join(', ')
        },
        { recovery: 'resume', limits },
      )
    const { id, node } = await changed(both('Left?', 'Right?'), both('Right?', 'Left?'))
    await node.answer(id, { question: 'l', 'question#2': 'r' })
    expect(textOf(await node.endedUnasked(id))).toBe('Left? l, Right? r')
  })
})
