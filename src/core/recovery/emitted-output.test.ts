import { expect, test } from 'vitest'
import { digestOfBody, EmittedList } from './emitted-output.ts'

const ROWS = 10_000

function filled(): EmittedList {
  const emitted = new EmittedList()
  for (let row = 0; row < ROWS; row++) emitted.push(row * 2, row % 3, digestOfBody(`body ${row}\n\n`))
  return emitted
}

test('emitted output: entries are found at their index, in every chunk', () => {
  const emitted = filled()
  expect(emitted.length).toBe(ROWS)
  for (let row = 0; row < ROWS; row++) {
    expect(emitted.indexOf(row)).toBe(row * 2)
    expect(emitted.attemptOf(row)).toBe(row % 3)
    expect(emitted.isAt(row, digestOfBody(`body ${row}\n\n`))).toBe(true)
    expect(emitted.isAt(row, digestOfBody(`body ${row + 1}\n\n`))).toBe(false)
  }
})

test('emitted output: entries after an index are dropped and replaced', () => {
  const emitted = filled()
  emitted.dropFrom(8191)
  expect(emitted.length).toBe(4096)
  emitted.push(9000, 7, digestOfBody('another\n\n'))
  expect([emitted.indexOf(4095), emitted.indexOf(4096), emitted.attemptOf(4096)]).toEqual([8190, 9000, 7])
  emitted.dropFrom(0)
  expect(emitted.length).toBe(0)
})

test('emitted output: digests of all texts of two characters differ', () => {
  const digests = new Set<string>()
  for (let first = 32; first < 160; first++)
    for (let second = 32; second < 160; second++)
      digests.add(digestOfBody(`${String.fromCharCode(first, second)}\n\n`).join())
  expect(digests.size).toBe(128 * 128)
})
