import { expect, test } from 'vitest'
import { ShownRun } from './shown.ts'

test('remote AgentOS: content longer than an event is text in pieces, and is not repeated at the end', () => {
  const content = '🦊 and ☂\n'.repeat(700_000)
  const shown = new ShownRun('id', 'remote', 'agent')
  const events = [...shown.add({ event: 'RunCompleted', run_id: 'remote', content })]
  const texts = events.flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : []))
  expect(texts.join('') === content).toBe(true)
  expect(texts.every((text) => text.isWellFormed())).toBe(true)
  expect(Math.max(...texts.map((text) => JSON.stringify(text).length))).toBeLessThan(2 ** 20)
  expect(shown.end).toEqual({ event: 'RunCompleted', run_id: 'remote' })
})

test('remote AgentOS: content that fits an event is the output', () => {
  const shown = new ShownRun('id', 'remote', 'agent')
  void [...shown.add({ event: 'RunCompleted', run_id: 'remote', content: 'all' })]
  expect(shown.end).toMatchObject({ event: 'RunCompleted', content: 'all' })
})
