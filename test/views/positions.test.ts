/** Positions in the frames of a view and in the log, converted both ways. */
import { describe, expect, test } from 'vitest'
import { ViewCache } from '../../src/core/delivery/view-cache.ts'
import { defaultLimits } from '../../src/core/model/limits.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { withSeed } from '../support/with-seed.ts'
import { testedViews } from './kinds.ts'
import { randomEvents } from './random-log.ts'

const EVENTS = 150

const numbered = testedViews.filter(({ positionOf }) => positionOf !== undefined)

describe.each(numbered.map((tested) => [tested.name, tested] as const))('view %s', (_, tested) => {
  test('[SUB-2] a position is the last frame up to a log index, and converts back to that index', () =>
    withSeed(async (random) => {
      const clock = createFakeClock()
      const store = createMemoryStore({ clock })
      const fresh = newRun('run_x', clock.iso(), { claim: { worker: 'test', ttlMs: 1e9 } })
      const { stored: created } = await store.create(fresh)
      const writer = new RunWriter(store, clock, created, [fresh.record])
      for (const event of randomEvents(random, 'run_x', EVENTS)) writer.append(event)
      await writer.flush()
      const stored = (await store.get('run_x'))!
      const view = new ViewCache(store, { ...defaultLimits, maxReadBytes: 4096 }).open(stored, tested.kind)
      await view.current(stored.next)

      const frames: { readonly number: number; readonly log: number }[] = []
      for await (const { frames: shown, logs } of view.steps(view.start))
        for (const [at, frame] of shown.entries())
          if (Number.isFinite(tested.positionOf!(frame)))
            frames.push({ number: tested.positionOf!(frame), log: logs[at]! })
      // Frames that are held back are numbered by the event that they belong to.
      for (let index = 0; index < stored.next; index++) {
        const last = frames.findLast(({ log }) => log <= index)?.number ?? -1
        expect(await view.frameAt(index), `after event ${index}`).toBe(last)
      }
      for (const { number } of frames) {
        const missing = frames.find((frame) => frame.number > number)
        const { index, isExact } = await view.cursorAt(number)
        expect(index, `after frame ${number}`).toBe((missing?.log ?? stored.next) - 1)
        expect(isExact).toBe(frames.every(({ log, number: other }) => log <= index || other > number))
      }
      const beyond = (frames.at(-1)?.number ?? -1) + 1
      await expect(view.cursorAt(beyond)).rejects.toMatchObject({ code: 'cursor_invalid' })
    }))
})
