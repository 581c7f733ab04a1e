import { expect, test } from 'vitest'
import { parseCursor, START } from './cursor.ts'
import { isHoldfastError } from './errors.ts'

test.each([
  ['0', 0],
  ['41', 41],
  ['007', 7],
  ['-1', START],
  ['run_1:0', 0],
  ['run_1:41', 41],
  ['run_1:-1', START],
  ['999999999999999', 999_999_999_999_999],
])('[SUB-2] the cursor %s is a position', (text, index) => {
  expect(parseCursor(text, 'run_1')).toBe(index)
})

test.each([
  [''],
  [' '],
  ['1 '],
  ['1\n'],
  ['+1'],
  ['-0'],
  ['-2'],
  ['1.5'],
  ['1e3'],
  ['0x1'],
  ['１'],
  ['NaN'],
  ['undefined'],
  [':1'],
  ['run_1:'],
  ['run_1'],
  ['run_1:1:2'],
  ['1000000000000000'],
  ['9'.repeat(100_000)],
])('[SUB-2] %j is not a cursor', (text) => {
  const refusal = refusalOf(text, 'run_1')
  expect(refusal.code).toBe('cursor_invalid')
  expect(refusal.message).toContain('is not a cursor')
  expect(refusal.message.length).toBeLessThan(250)
})

test('[SUB-2] a cursor of another run is rejected, and the error names that run', () => {
  const refusal = refusalOf('run_2:4', 'run_1')
  expect(refusal.code).toBe('cursor_invalid')
  expect(refusal.message).toBe('the cursor belongs to run run_2, not to run_1')
  expect(refusalOf(`${'x'.repeat(100_000)}:4`, 'run_1').message.length).toBeLessThan(250)
})

function refusalOf(text: string, run: string) {
  try {
    parseCursor(text, run)
  } catch (thrown) {
    if (isHoldfastError(thrown)) return thrown
    throw thrown
  }
  throw new Error('it was not refused')
}
