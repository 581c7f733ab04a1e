/** The demo's components as the demo serves them, on the scripted model. */
import { describe, expect, test } from 'vitest'
import { validate } from '../../core/schema/validate.ts'
import { openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import { isHoldfastError } from '../../core/model/errors.ts'
import { demoComponents } from './components.ts'
import { lazy } from './lazy.ts'
import { demoModel } from './model.ts'
import { story } from './story.ts'

const REQUEST = 'Tell me a detailed story about a brave knight'
const SLOWLY = { timeout: 120_000 }

await import('ai') // no run is to wait for it

const components = demoComponents(demoModel({}, {}))

function textIn(log: Parameters<typeof textOf>[0]): string[] {
  return log.flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : []))
}

describe('demo: the storyteller', () => {
  test('[RUN-1] continues at the next word after a kill, and repeats nothing', SLOWLY, async () => {
    const world = new World(...components)
    const first = world.worker()
    const id = await first.start('storyteller', REQUEST)
    const before = await first.emitted(id, 'text.delta', 12)
    world.kill()
    const second = world.worker()
    await second.emitted(id, 'text.delta', before.filter(({ type }) => type === 'text.delta').length + 5)
    await second.stop(id)
    const log = await second.ended(id)
    const words = textIn(log)
    expect(story(REQUEST).startsWith(words.join(''))).toBe(true)
    expect(words.every((word) => /^\S+\s*$/.test(word))).toBe(true)
    expect(typesOf(log)).not.toContain('attempt.discarded')
    expect(log.at(-1)!.type).toBe('run.cancelled')
  })

  test('rejects an input that is not a subject before there is a run', async () => {
    const storyteller = components.find(({ id }) => id === 'storyteller')!
    for (const input of [undefined, null]) {
      const { cause } = await validate(storyteller.input!, input)
      expect(isHoldfastError(cause, 'invalid_request')).toBe(true)
    }
    expect(await validate(storyteller.input!, { text: 'a fox' })).toEqual({ value: { text: 'a fox' } })
  })
})

test('demo: the clerk asks before it sends money', SLOWLY, async () => {
  const node = openNode({ components })
  const id = await node.start('clerk', 'Send Ada 25 euros')
  const { run } = await node.reached(id, 'paused', 60_000)
  expect(run.waiting).toMatchObject([{ kind: 'approval' }])
  await node.answer(id, { [run.waiting![0]!.id]: { approved: false } })
  expect((await node.ended(id, 60_000)).at(-1)!.data).toMatchObject({ output: 'I have sent nothing.' })
})

test('demo: the newsroom has two members, and its editor reports their results', SLOWLY, async () => {
  const node = openNode({ components })
  const log = await node.ended(await node.start('newsroom', 'the tide'), 60_000)
  const actors = log.filter(({ type }) => type === 'actor.completed').map(({ actor }) => actor!.component)
  expect(actors.toSorted()).toEqual(['harbour', 'weather'])
  expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: /^Tonight's story\. .*the news\.$/ } })
})

test('demo: publish has a sequence, a parallel block, a loop and a condition', SLOWLY, async () => {
  const node = openNode({ components })
  const log = await node.ended(await node.start('publish', 'kelp'), 60_000)
  const kinds = log.flatMap((event) => (event.type === 'step.started' ? [event.data.kind] : []))
  expect(kinds).toEqual(expect.arrayContaining(['agent', 'parallel', 'function', 'loop', 'condition']))
  expect(log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: /^Published: .*!!$/ } })
})

test('demo: a package that failed to load for one run is loaded again for the next', async () => {
  let loads = 0
  const component = lazy({ id: 'subject', kind: 'agent' }, async () => {
    if (++loads === 1) throw new Error('not there yet')
    return {
      id: 'subject',
      kind: 'agent',
      async *run() {
        yield 'here'
        return 'done'
      },
    }
  })
  const node = openNode({ components: [component] })
  expect((await node.ended(await node.start('subject'))).at(-1)!.data).toMatchObject({
    error: { message: 'not there yet' },
  })
  expect((await node.ended(await node.start('subject'))).at(-1)!.data).toMatchObject({ output: 'done' })
})
