import { describe, expect, test } from 'vitest'
import { WORDS_PER_SECOND } from './scripted.ts'
import { story } from './story.ts'

const REQUEST = 'Tell me a detailed story about a brave knight'

describe('demo: the story', () => {
  test('has at least five paragraphs, each about the subject', () => {
    const paragraphs = story(REQUEST).split('\n\n')
    expect(paragraphs.length).toBeGreaterThanOrEqual(5)
    for (const paragraph of paragraphs) expect(paragraph).toMatch(/brave knight/i)
    expect(story(REQUEST)).not.toMatch(/[{}]|undefined/)
  })

  test('takes between 40 and 60 seconds at the pace of the demo', () => {
    const seconds = story(REQUEST).split(/\s+/).length / WORDS_PER_SECOND
    expect(seconds).toBeGreaterThan(40)
    expect(seconds).toBeLessThan(60)
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
  ] as const)('the request %j gives a story about %j', ([request, subject, name]) => {
    const text = story(request)
    expect(text).toContain(`morning of the year, ${subject} came down`)
    expect(text).toContain(`All that summer ${name} learned`)
  })
})
