import { expect, test } from 'vitest'
import { newRun } from '../../testing/fixtures.ts'
import { type OrderedRun, FairOrder } from './fair-order.ts'

const TIME = '2026-01-01T00:00:00.000Z'

function queued(number: number, owner: string): OrderedRun {
  return { run: newRun(`run_${number}`, TIME, { owner }).run, number }
}

test('fair order: a long queue is not scanned for its first few runs', () => {
  const order = new FairOrder<OrderedRun>()
  for (let number = 0; number < 10_000; number++) order.place(queued(number, 'anna'))
  for (let number = 10_000; number < 10_003; number++) order.place(queued(number, 'bert'))
  let looks = 0
  const first = order.first(3, () => ++looks > 0)
  expect(first.map(({ number }) => number)).toEqual([0, 10_000, 1])
  expect(looks).toBe(6)
})

test('fair order: runs that wait for an answer without a deadline are not scanned', () => {
  const order = new FairOrder<OrderedRun>()
  const { run } = queued(0, 'anna')
  order.place({ number: 0, run: { ...run, status: 'paused' } })
  const overdue: OrderedRun = { number: 1, run: { ...run, status: 'paused', wakeAt: 0 } }
  order.place(overdue)
  const seen: OrderedRun[] = []
  expect(order.first(10, (item) => seen.push(item) > 0)).toEqual([overdue])
  expect(seen).toEqual([overdue])
})

test('fair order: finished runs are forgotten', () => {
  const order = new FairOrder<{ run: OrderedRun['run']; readonly number: number }>()
  const item = { ...queued(0, 'anna') }
  for (const status of ['queued', 'running', 'paused', 'running', 'completed'] as const) {
    item.run = { ...item.run, status }
    order.place(item)
  }
  expect(order.first(10, () => true)).toEqual([])
  expect(order.queued()).toBe(0)
  expect(order.queued('anna')).toBe(0)
})
