/** Crash suspects: how many execute at once, in which order, and when they stop being suspects. */
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { StoredRun } from '../ports/store.ts'
import { Suspects } from './crash-suspects.ts'

const SUSPECT_MS = 1000

/** Suspects on a clock of their own; ids of the started ones, in order, and those that have progressed. */
function watched(): { clock: ManualClock; started: string[]; progressed: Set<string>; suspects: Suspects } {
  const clock = new ManualClock()
  const started: string[] = []
  const progressed = new Set<string>()
  const suspects = new Suspects({
    suspectMs: SUSPECT_MS,
    clock,
    start: ({ run }) => void started.push(run.id),
    hasProgressed: (id) => progressed.has(id),
  })
  return { clock, started, progressed, suspects }
}

/** A run whose process died; `concurrency` is set if it died before. */
function suspect(id: string, interruptions = 0, concurrency?: number): StoredRun {
  return { run: { id, ...(concurrency !== undefined && { suspect: { interruptions, concurrency } }) } } as StoredRun
}

describe('[RUN-6] crash suspects', () => {
  test('a suspect that executed for suspectMs frees a slot for the next', () => {
    const { clock, started, suspects } = watched()
    suspects.add([suspect('a'), suspect('b')])
    clock.advance(SUSPECT_MS - 1)
    expect(started).toEqual(['a'])
    clock.advance(1)
    expect(started).toEqual(['a', 'b'])
  })

  test('each interruption without progress multiplies suspectMs by four', () => {
    const { clock, started, suspects } = watched()
    suspects.add([suspect('a', 2, 2), suspect('b', 2, 2)])
    clock.advance(16 * SUSPECT_MS - 1)
    expect(started).toEqual(['a'])
    clock.advance(1)
    expect(started).toEqual(['a', 'b'])
  })

  test('progress frees a slot at the next poll', () => {
    const { clock, started, progressed, suspects } = watched()
    suspects.add([suspect('a', 2, 2), suspect('b', 2, 2)])
    progressed.add('a')
    clock.advance(SUSPECT_MS)
    expect(started).toEqual(['a', 'b'])
  })

  test('those with the fewest interruptions start first', () => {
    const { started, suspects } = watched()
    suspects.add([suspect('often', 2, 2), suspect('once', 1, 8), suspect('fresh')])
    expect(started).toEqual(['once'])
    suspects.ended('once')
    expect(started).toEqual(['once', 'often'])
  })

  test('no other suspect is started beside one that must execute alone', () => {
    const { started, suspects } = watched()
    suspects.add([suspect('alone', 2, 2)])
    suspects.add(['a', 'b', 'c', 'd'].map((id) => suspect(id)))
    expect(started).toEqual(['alone'])
    suspects.ended('alone')
    expect(started).toEqual(['alone', 'a', 'b'])
  })
})
