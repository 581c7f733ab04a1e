import { expect, test } from 'vitest'
import { events, type Slice, sliceOf } from '../../../core/model/slice.ts'
import { recordOf } from '../../../testing/fixtures.ts'
import { Tail } from './tail.ts'

test('SQLite: records that come one by one are one slice', () => {
  const tail = filled(7, 30)
  expect(tail.slice()).toEqual(recordsOf(7, 30))
  expect(tail.isEmpty).toBe(false)
})

test('[LOG-5] SQLite tail: a slice stays unchanged while records come and go', () => {
  const tail = filled(0, 3)
  const early = tail.slice()
  for (let index = 3; index < 200; index++) tail.push(recordsOf(index, 1))
  const late = tail.slice()
  tail.dropBefore(150)
  tail.push(recordsOf(200, 1))
  expect(Buffer.from(early.bytes)).toEqual(recordsOf(0, 3).bytes)
  expect(Buffer.from(late.bytes)).toEqual(recordsOf(0, 200).bytes)
  expect(events(tail.slice()).map(({ index }) => index)).toEqual(Array.from({ length: 51 }, (_, place) => 150 + place))
})

test('[STO-1] SQLite tail: the memory of dropped records is given back', () => {
  const tail = filled(0, 2000)
  const whole = tail.slice().bytes.buffer.byteLength
  tail.dropBefore(1990)
  expect(tail.slice().bytes.buffer.byteLength).toBeLessThan(whole / 50)
  tail.dropBefore(2000)
  expect(tail.slice().bytes.buffer.byteLength).toBe(0)
})

test.each([
  [5, 5, 10],
  [3, 5, 10],
  [11, 11, 4],
  [14, 14, 1],
])('SQLite tail: dropBefore(%i) of records 5 to 14 keeps %i and what follows', (before, first, count) => {
  const tail = filled(5, 10)
  tail.dropBefore(before)
  expect(tail.slice()).toEqual(recordsOf(first, count))
})

test.each([15, 400])(
  'SQLite tail: dropBefore(%i) of records 5 to 14 leaves nothing, and another range may follow',
  (before) => {
    const tail = filled(5, 10)
    tail.dropBefore(before)
    expect(tail.isEmpty).toBe(true)
    tail.push(recordsOf(500, 2))
    expect(tail.slice()).toEqual(recordsOf(500, 2))
  },
)

function filled(first: number, count: number): Tail {
  const tail = new Tail()
  for (let index = first; index < first + count; index++) tail.push(recordsOf(index, 1))
  return tail
}

function recordsOf(first: number, count: number): Slice {
  const record = (index: number): string =>
    recordOf('run_x', index, '2026-01-01T00:00:00.000Z', { type: 'text.delta', data: { text: 'more' } })
  const { bytes, ...slice } = sliceOf(
    first,
    Array.from({ length: count }, (_, place) => record(first + place)),
    false,
  )
  return { ...slice, bytes: Buffer.from(bytes) }
}

test('SQLite tail: records after an index are the same wherever the search begins', () => {
  const tail = new Tail()
  for (let index = 10; index < 1510; index += 100) tail.push(recordsOf(index, 100))
  for (const dropped of [10, 11, 400, 777, 1400]) {
    tail.dropBefore(dropped)
    expect(tail.first).toBe(dropped)
    for (let index = dropped - 1; index < 1509; index += 83) {
      expect(tail.after(index)).toEqual(recordsOf(index + 1, 1509 - index))
    }
  }
  tail.push(recordsOf(1510, 400))
  expect(tail.after(1700)).toEqual(recordsOf(1701, 209))
  expect(tail.byteLength).toBe(recordsOf(1400, 510).bytes.length)
})
