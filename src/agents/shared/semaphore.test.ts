import { expect, test } from 'vitest'
import { Semaphore } from './semaphore.ts'

const { signal } = new AbortController()

test('semaphore: a released slot goes to the longest waiter', async () => {
  const slots = new Semaphore(1)
  const order: string[] = []
  const giveBack = await slots.take(signal)
  const first = slots.take(signal).then((release) => (order.push('first'), release()))
  const second = slots.take(signal).then((release) => (order.push('second'), release()))
  giveBack()
  await Promise.all([first, second])
  expect(order).toEqual(['first', 'second'])
})

test('semaphore: an aborted wait takes no slot, and a second release frees nothing more', async () => {
  const slots = new Semaphore(1)
  const giveBack = await slots.take(signal)
  const controller = new AbortController()
  const aborted = slots.take(controller.signal)
  controller.abort(new Error('enough'))
  await expect(aborted).rejects.toThrow('enough')
  await expect(slots.take(controller.signal)).rejects.toThrow('enough')
  giveBack()
  giveBack()
  await slots.take(signal)
  let hasSecond = false
  void slots.take(signal).then(() => (hasSecond = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect(hasSecond).toBe(false)
})
