import { setImmediate as nextTick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { paceRequests, shareEventLoop } from './share-event-loop.ts'

function workMs(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('shareEventLoop: a loop within its time slice continues at once', async () => {
  await nextTick()
  expect(shareEventLoop()).toBeUndefined()
})

test('shareEventLoop: a loop beyond its time slice yields to other work', async () => {
  await nextTick()
  void shareEventLoop()
  workMs(20)
  let served = 0
  setImmediate(() => served++)
  const waiting = shareEventLoop()
  expect(waiting).toBeInstanceOf(Promise)
  await waiting
  expect(served).toBe(1)
  await nextTick()
  expect(shareEventLoop(), 'a new tick has its whole time').toBeUndefined()
})

test('shareEventLoop: concurrent loops alternate', async () => {
  const order: string[] = []
  const loop = async (name: string): Promise<void> => {
    for (let step = 0; step < 3; step++) {
      order.push(name)
      workMs(15)
      await shareEventLoop()
    }
  }
  await nextTick()
  void shareEventLoop()
  await Promise.all([loop('a'), loop('b'), loop('c')])
  expect(order.join('')).toBe('abcabcabc')
})

test('paceRequests: the requests of a burst are handled in order, and other work in between', async () => {
  const order: string[] = []
  const request = async (name: string): Promise<void> => {
    const pause = paceRequests()
    if (pause !== undefined) await pause
    workMs(5)
    order.push(name)
  }
  await nextTick()
  const all = ['a', 'b', 'c'].map(request)
  setImmediate(() => order.push('other work'))
  await Promise.all(all)
  expect(order).toEqual(['a', 'b', 'other work', 'c'])
})
