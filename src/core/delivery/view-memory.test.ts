import { expect, test } from 'vitest'
import type { ErrorCode } from '../model/errors.ts'
import { ViewMemory, type ViewHolder } from './view-memory.ts'

function memoryOf(maxActiveViewBytes: number) {
  const memory = new ViewMemory({ maxActiveViewBytes, retryDelayMs: 1000 })
  const ended: [name: string, code: ErrorCode][] = []
  const hold = (owner: string, name: string): ViewHolder =>
    memory.hold(owner, ({ code }) => void ended.push([name, code]))
  return { memory, ended, hold }
}

test('view memory: a state that subscribers share is counted once, until the last one releases it', () => {
  const { memory, hold } = memoryOf(1000)
  const view = {}
  const holders = ['a', 'b', 'c'].map((name) => hold('anna', name))
  for (const holder of holders) holder.update({ view, sharedBytes: 100, ownBytes: 10 })
  expect(memory.bytes).toBe(130)
  holders[0]!.update({ view, sharedBytes: 150, ownBytes: 0 })
  expect(memory.bytes).toBe(170)
  for (const holder of holders) holder.release()
  expect(memory.bytes).toBe(0)
})

test('[SEC-2] view memory: above the limit, the principal that uses most loses its largest stream', () => {
  const { memory, ended, hold } = memoryOf(100)
  hold('anna', 'anna 1').update({ view: {}, sharedBytes: 0, ownBytes: 30 })
  hold('anna', 'anna 2').update({ view: {}, sharedBytes: 0, ownBytes: 40 })
  hold('bert', 'bert 1').update({ view: {}, sharedBytes: 0, ownBytes: 25 })
  expect(ended).toEqual([])
  hold('bert', 'bert 2').update({ view: {}, sharedBytes: 10, ownBytes: 0 })
  expect(ended).toEqual([['anna 2', 'rate_limited']])
  expect(memory.bytes).toBe(65)
})

test('[SEC-2] view memory: a shared state is freed by ending all of its subscribers', () => {
  const { memory, ended, hold } = memoryOf(100)
  const view = {}
  for (const name of ['a', 'b', 'c']) hold('anna', name).update({ view, sharedBytes: 90, ownBytes: 0 })
  hold('bert', 'bert').update({ view: {}, sharedBytes: 0, ownBytes: 20 })
  expect(ended.map(([name]) => name)).toEqual(['a', 'b', 'c'])
  expect(memory.bytes).toBe(20)
})

test('[SEC-2] view memory: a state larger than the limit is refused as too large', () => {
  const { memory, ended, hold } = memoryOf(100)
  const holder = hold('anna', 'giant')
  holder.update({ view: {}, sharedBytes: 0, ownBytes: 101 })
  expect(ended).toEqual([['giant', 'too_large']])
  holder.update({ view: {}, sharedBytes: 0, ownBytes: 200 })
  holder.release()
  expect(memory.bytes).toBe(0)
})
