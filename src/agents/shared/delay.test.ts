import { expect, test } from 'vitest'
import { delay, untilAborted } from './delay.ts'

const HOUR = 3_600_000

test('delay: a delay of 0 ms yields the event loop', async () => {
  let turned = false
  setImmediate(() => (turned = true))
  await delay(0)
  expect(turned).toBe(true)
})

test.for([
  ['a long delay', (signal: AbortSignal) => delay(HOUR, signal)],
  ['a delay of nothing', (signal: AbortSignal) => delay(0, signal)],
  ['waiting for the abort', (signal: AbortSignal) => untilAborted(signal)],
] as const)('delay: %s ends with the reason of the abort, also if that came before', async ([, wait]) => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const waiting = wait(controller.signal)
  controller.abort(reason)
  await expect(waiting).rejects.toBe(reason)
  await expect(wait(controller.signal)).rejects.toBe(reason)
})
