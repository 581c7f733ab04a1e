/** How long the wall clock must be observed before retention by age uses it. */
import { expect, test } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { ObservedTime } from './observed-time.ts'

const HOUR = 3_600_000
const MINUTE = 60_000

/** Observes every half hour, and returns the remaining hours. */
async function hoursLeftAfter(observed: ObservedTime, clock: FakeClock, hours: number): Promise<number> {
  let left = (await observed.look()).waitMs
  for (let passed = 0; passed < hours; passed += 0.5) {
    clock.advance(HOUR / 2)
    left = (await observed.look()).waitMs
  }
  return left / HOUR
}

test('retention: a clock is believed after 24 observed hours, and not before', async () => {
  const clock = createFakeClock()
  const observed = new ObservedTime(createMemoryStore({ clock }), clock)
  expect(await hoursLeftAfter(observed, clock, 23.5)).toBe(0.5)
  expect(await hoursLeftAfter(observed, clock, 0.5)).toBe(0)
})

test('retention: small steps of the clock are not observed time', async () => {
  const clock = createFakeClock()
  const observed = new ObservedTime(createMemoryStore({ clock }), clock)
  await observed.look()
  for (let step = 0; step < 48; step++) {
    clock.step(50 * MINUTE)
    expect(await observed.look()).toEqual({ waitMs: 24 * HOUR })
  }
})

test('retention: a process that stood still for more than an hour observes anew', async () => {
  const clock = createFakeClock()
  const observed = new ObservedTime(createMemoryStore({ clock }), clock)
  expect(await hoursLeftAfter(observed, clock, 24)).toBe(0)
  clock.advance(2 * HOUR)
  expect(await observed.look()).toEqual({ waitMs: 24 * HOUR, distrust: 'the clock was not observed for 2 hours' })
})

test('retention: a restart neither shortens the observation nor begins it anew', async () => {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock })
  expect(await hoursLeftAfter(new ObservedTime(store, clock), clock, 5)).toBe(19)
  const next = new ObservedTime(store, clock)
  expect(await next.look()).toEqual({ waitMs: 19 * HOUR })
  expect(await hoursLeftAfter(next, clock, 19)).toBe(0)
})
