import { expect, test } from 'vitest'
import { heldMegabytes } from '../../../test/support/memory.ts'
import { Fifo } from './fifo.ts'

test('a FIFO queue gives its items back in order, whenever they were added', () => {
  const queue = new Fifo<number>()
  const taken: (number | undefined)[] = []
  for (let item = 0; item < 5000; item++) {
    queue.push(item)
    if (item % 3 !== 0) taken.push(queue.take())
  }
  expect(queue.peek()).toBe(taken.length)
  while (queue.length > 0) taken.push(queue.take())
  expect(taken).toEqual(Array.from({ length: 5000 }, (_, item) => item))
  expect([queue.take(), queue.peek(), queue.length]).toEqual([undefined, undefined, 0])
})

test('[STO-1] a long FIFO queue is emptied in time in proportion to its length', () => {
  const items = Array.from({ length: 200_000 }, (_, at) => ({ at }))
  const control = cpuMs(() => {
    const copy: object[] = []
    for (const item of items) copy.push(item)
    for (let at = 0; at < copy.length; at++) if (copy[at] !== items[at]) throw new Error('another item')
  })
  const queue = new Fifo<object>()
  const emptied = cpuMs(() => {
    for (const item of items) queue.push(item)
    for (const item of items) if (queue.take() !== item) throw new Error('another item')
  })
  expect(emptied / Math.max(control, 5)).toBeLessThan(50) // with `Array.shift`: hundreds
})

test('[STO-1] a FIFO queue does not hold what was taken from it', async () => {
  const queue = new Fifo<Uint8Array>()
  const before = await heldMegabytes()
  for (let at = 0; at < 4000; at++) {
    queue.push(new Uint8Array(16 * 1024))
    if (at >= 100) queue.take()
  }
  expect(queue.length).toBe(100)
  expect((await heldMegabytes()) - before).toBeLessThan(40) // of 62
})

function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
