/** A saved structure that is restored and folded on equals one that was never saved. */
import { expect, test } from 'vitest'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import { RunStructure } from '../../src/core/structure/run-structure.ts'
import type { SavedStructure } from '../../src/core/structure/saved-structure.ts'
import { readLogs } from '../golden/log-file.ts'
import { withSeed } from '../support/with-seed.ts'
import { randomEvents } from './random-log.ts'

const RUN = 'run_x'

function asLogged(events: readonly object[]): LoggedEvent[] {
  return events.map((event, index) => {
    const time = new Date(index * 1000).toISOString()
    return { ...event, run: RUN, index, time } as LoggedEvent
  })
}

function throughJson(structure: RunStructure): RunStructure {
  return RunStructure.restore(JSON.parse(JSON.stringify(structure.save())) as SavedStructure)
}

/** Without fields that are undefined, which JSON does not have. */
function shown(structure: RunStructure): unknown {
  const { lifecycle, actors, usage } = structure
  const total = usage.total ?? null
  return JSON.parse(
    JSON.stringify([
      structure.save(),
      structure.entries(),
      structure.open(),
      lifecycle,
      [...actors],
      usage.models,
      total,
    ]),
  )
}

function expectSameAtEveryCut(events: readonly LoggedEvent[], every = 1): void {
  const uncut = new RunStructure()
  const restored: RunStructure[] = []
  for (const [index, event] of events.entries()) {
    if (index % every === 0) restored.push(throughJson(uncut))
    uncut.apply(event)
    const entry = JSON.stringify(uncut.get(event.index))
    for (const structure of restored) {
      structure.apply(event)
      expect(JSON.stringify(structure.get(event.index))).toBe(entry)
    }
  }
  const expected = shown(uncut)
  for (const [cut, structure] of restored.entries())
    expect(shown(structure), `saved before event ${cut * every}`).toEqual(expected)
}

test('a structure saved before any event of a golden log and folded on equals the uncut one', () => {
  for (const { events } of readLogs()) expectSameAtEveryCut(asLogged(events))
})

test('a structure saved before any event of a random log and folded on equals the uncut one', () =>
  withSeed((random) => {
    for (let round = 0; round < 4; round++) expectSameAtEveryCut(asLogged(randomEvents(random, RUN, 300)), 3)
    return Promise.resolve()
  }))

test('a saved structure of an unknown version is rejected', () => {
  const saved = { ...new RunStructure().save(), version: 2 }
  expect(() => RunStructure.restore(saved)).toThrow('the structure has version 2')
})

test('each delta of a long text adds only a few bytes to a saved structure', () => {
  const structure = new RunStructure()
  const deltas = Array.from({ length: 10_000 }, () => ({ type: 'text.delta', data: { text: 'word ' } }))
  for (const event of asLogged(deltas)) structure.apply(event)
  expect(JSON.stringify(structure.save()).length).toBeLessThan(10_000 * ('word '.length + 3))
})
