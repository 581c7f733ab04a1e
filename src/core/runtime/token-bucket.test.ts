import { expect, test } from 'vitest'
import { TokenBuckets } from './token-bucket.ts'

function buckets(perSecond: number, burst: number, maxKeys?: number) {
  const time = { now: 0 }
  const made = new TokenBuckets({ perSecond, burst, now: () => time.now, ...(maxKeys !== undefined && { maxKeys }) })
  return { time, made }
}

test('token bucket: a key may take its burst at once, then at the refill rate', () => {
  const { time, made } = buckets(10, 3)
  expect([made.take('a'), made.take('a'), made.take('a'), made.take('a')]).toEqual([0, 0, 0, 100])
  time.now = 99
  expect(made.take('a')).toBe(1)
  time.now = 100
  expect([made.take('a'), made.take('a')]).toEqual([0, 100])
})

test('token bucket: unused tokens are kept up to the burst', () => {
  const { time, made } = buckets(10, 2)
  made.take('a')
  time.now = 1_000_000
  expect([made.take('a'), made.take('a'), made.take('a')]).toEqual([0, 0, 100])
})

test('token bucket: keys are independent', () => {
  const { made } = buckets(1, 1)
  expect([made.take('a'), made.take('b'), made.take('a')]).toEqual([0, 0, 1000])
})

test('token bucket: a token that is given back can be taken again, and never exceeds the burst', () => {
  const { made } = buckets(1, 1)
  expect([made.take('a'), made.take('a')]).toEqual([0, 1000])
  made.giveBack('a')
  made.giveBack('a')
  expect([made.take('a'), made.take('a')]).toEqual([0, 1000])
})

test('token bucket: the number of remembered keys is limited to the most recently used', () => {
  const { made } = buckets(1, 1, 2)
  for (const key of ['a', 'b', 'c']) made.take(key)
  expect([made.take('c'), made.take('b'), made.take('a')]).toEqual([1000, 1000, 0])
})

test('token bucket: a rate of 0 means no limit', () => {
  const { made } = buckets(0, 0)
  for (let count = 0; count < 1000; count++) expect(made.take('a')).toBe(0)
})
