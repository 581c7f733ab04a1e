import { describe, expect, test } from 'vitest'
import type { RunContext } from '../../core/agent.ts'
import { isHoldfastError } from '../../core/errors.ts'
import { pause } from '../shared/pause.ts'
import { storyteller, WORDS_PER_SECOND } from './agent.ts'
import { story } from './story.ts'

const REQUEST = 'Tell me a detailed story about a brave knight'

interface Circumstances {
  readonly signal?: AbortSignal
  readonly replaying?: () => boolean
}

function contextOf({ signal = new AbortController().signal, replaying = () => false }: Circumstances = {}): RunContext {
  return {
    run: 'run_story',
    session: 'ses_story',
    owner: 'local',
    metadata: {},
    attempt: 1,
    signal,
    get replaying() {
      return replaying()
    },
    step: unused,
    tool: unused,
    sleep: (ms) => (replaying() ? Promise.resolve() : pause(ms, signal)),
    stage: unused,
    call: unused,
    within: unused,
    ask: unused,
    reject: unused,
  }
}

function unused(): never {
  throw new Error('the storyteller has no use for this')
}

async function told(request: string, context = contextOf()): Promise<unknown[]> {
  const words: unknown[] = []
  for await (const word of storyteller({ wordsPerSecond: Number.POSITIVE_INFINITY }).run(request, context))
    words.push(word)
  return words
}

describe('the story', () => {
  test('it has at least five paragraphs about the subject, and comes word by word', async () => {
    const words = await told(REQUEST)
    const text = words.join('')
    expect(text).toBe(story(REQUEST))
    expect(words.every((word) => /^\S+\s*$/.test(String(word)))).toBe(true)
    expect(text.split('\n\n').length).toBeGreaterThanOrEqual(5)
    for (const paragraph of text.split('\n\n')) expect(paragraph).toMatch(/brave knight/i)
    expect(text).not.toMatch(/[{}]|undefined/)
  })

  test('it takes a person between 40 and 60 seconds at the pace of the demo', () => {
    const seconds = story(REQUEST).split(/\s+/).length / WORDS_PER_SECOND
    expect(seconds).toBeGreaterThan(40)
    expect(seconds).toBeLessThan(60)
  })

  test('the same request gives the same words', async () => {
    expect(await told(REQUEST)).toEqual(await told(REQUEST))
  })

  test.for([
    [REQUEST, 'a brave knight', 'the brave knight'],
    ['Write a tale of two cities!', 'two cities', 'two cities'],
    ['a story about an owl that cannot sleep. Make it long.', 'an owl that cannot sleep', 'the owl'],
    ['Something about my cat, please', 'your cat', 'your cat'],
    ['A sly, old fox', 'a sly, old fox', 'the sly, old fox'],
    ['a story about\n   "Ada Lovelace".', 'Ada Lovelace', 'Ada Lovelace'],
    ['about $& and {name}', '$& and {name}', '$& and {name}'],
    ['hello', 'a lighthouse keeper', 'the lighthouse keeper'],
    ['', 'a lighthouse keeper', 'the lighthouse keeper'],
    [`about ${'x'.repeat(5000)}`, 'a lighthouse keeper', 'the lighthouse keeper'],
  ] as const)('%j is about %j', ([request, subject, name]) => {
    const text = story(request)
    expect(text).toContain(`morning of the year, ${subject} came down`)
    expect(text).toContain(`All that summer ${name} learned`)
  })
})

describe('the storyteller', () => {
  test('it takes a string, or an object with a text, and refuses anything else', () => {
    const component = storyteller()
    expect(component.parse?.('a fox')).toBe('a fox')
    expect(component.parse?.({ text: 'a fox' })).toBe('a fox')
    for (const input of [undefined, null, 7, [], {}, { text: 7 }]) {
      expect(() => component.parse?.(input)).toThrow(
        expect.toSatisfy((thrown) => isHoldfastError(thrown, 'invalid_request')),
      )
    }
  })

  test('it stops waiting when its run is aborted, with the reason of the abort', async () => {
    const controller = new AbortController()
    const reason = new Error('stopped by its owner')
    const words = storyteller({ wordsPerSecond: 0.001 }).run(REQUEST, contextOf({ signal: controller.signal }))
    const next = words[Symbol.asyncIterator]().next()
    controller.abort(reason)
    await expect(next).rejects.toBe(reason)
  })

  test('what its log already holds is told again without a pause', async () => {
    const context = contextOf({ replaying: () => true })
    let text = ''
    for await (const word of storyteller({ wordsPerSecond: 0.001 }).run(REQUEST, context)) text += word as string
    expect(text).toBe(story(REQUEST))
  })
})
