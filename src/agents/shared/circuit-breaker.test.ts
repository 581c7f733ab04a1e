import { expect, test } from 'vitest'
import { CircuitBreaker } from './circuit-breaker.ts'

function breakerAt(options: ConstructorParameters<typeof CircuitBreaker>[0]) {
  const clock = { now: 0 }
  return { clock, breaker: new CircuitBreaker(options, () => clock.now) }
}

test('circuit breaker: opens after failures in a row, and a success in between starts the count again', () => {
  const { breaker } = breakerAt({ failureThreshold: 2, resetTimeoutMs: 100 })
  breaker.failed()
  breaker.succeeded()
  breaker.failed()
  expect(breaker.state).toBe('closed')
  breaker.failed()
  expect(breaker.state).toBe('open')
  expect(breaker.pass()).toBe(false)
  expect(breaker.retryAfterMs).toBe(100)
})

test('circuit breaker: lets one probe through after its time, and closes or opens by its result', () => {
  const { breaker, clock } = breakerAt({ failureThreshold: 1, resetTimeoutMs: 100 })
  breaker.failed()
  clock.now = 100
  expect(breaker.state).toBe('half-open')
  expect([breaker.pass(), breaker.pass()]).toEqual([true, false])
  breaker.failed()
  expect(breaker.state).toBe('open')
  clock.now = 200
  expect(breaker.pass()).toBe(true)
  breaker.succeeded()
  expect([breaker.state, breaker.pass(), breaker.pass()]).toEqual(['closed', true, true])
})

test('circuit breaker: a probe without a result does not block the next one for ever', () => {
  const { breaker, clock } = breakerAt({ failureThreshold: 1, resetTimeoutMs: 100 })
  breaker.failed()
  clock.now = 100
  expect(breaker.pass()).toBe(true)
  clock.now = 200
  expect(breaker.pass()).toBe(true)
  breaker.undecided()
  expect(breaker.pass()).toBe(true)
})

test('circuit breaker: 0 failures turn it off', () => {
  const { breaker } = breakerAt({ failureThreshold: 0 })
  for (let count = 0; count < 100; count++) breaker.failed()
  expect(breaker.state).toBe('closed')
})
