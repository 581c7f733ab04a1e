/** Random programs with random latencies and a crash at every event: nothing is mixed up, repeated or lost. */
import fc from 'fast-check'
import { describe, expect, onTestFailed, test } from 'vitest'
import { type Ended, live } from '../../../test/support/programs/crashes.ts'
import { testSeed } from '../../../test/support/random.ts'
import {
  edit,
  edited,
  effectsOf,
  namedProgram,
  outcome,
  type Program,
  program,
} from '../../../test/support/programs/program.ts'

/** Programs that each test tries; more of them in a campaign. */
const PROGRAMS = Number(process.env['HOLDFAST_PROGRAMS'] ?? 50)
/** `HOLDFAST_TEST_SEED` tries the programs of an earlier run again. */
const SEED = testSeed()
const TIMEOUT_MS = 120_000 + PROGRAMS * 20_000

function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Prints how to repeat the test when it fails; fast-check does not on a timeout. */
function reported(): (...tried: unknown[]) => void {
  let last: unknown[] = []
  onTestFailed(() =>
    console.error(`HOLDFAST_TEST_SEED=${SEED} HOLDFAST_PROGRAMS=${PROGRAMS}, last: ${JSON.stringify(last)}`),
  )
  return (...tried) => (last = tried)
}

function expectSound({ mixedUp, repeated }: Ended): void {
  expect(mixedUp).toEqual([])
  expect(repeated).toEqual([])
}

function expectWhole(ended: Ended, given: Program): void {
  expectSound(ended)
  expect(ended.diverged).toBeUndefined()
  expect(ended.log.at(-1)).toMatchObject({ type: 'run.completed', data: { output: outcome(given) } })
  expect(ended.effects.toSorted()).toEqual(effectsOf(given))
}

describe('[RUN-5] recovery: a random program', () => {
  test(
    'reaches the same end, with every effect once, wherever its worker dies',
    async () => {
      const report = reported()
      await fc.assert(
        fc.asyncProperty(program, fc.nat(), async (given, seed) => {
          report(given, seed)
          const random = seeded(seed)
          const whole = await live([{ program: given }], random)
          expectWhole(whole, given)
          for (let diesAt = 2; diesAt < whole.log.length; diesAt++) {
            const second = diesAt + 1 + Math.floor(random() * 6)
            const lives = [{ program: given, diesAt }, { program: given, diesAt: second }, { program: given }]
            expectWhole(await live(lives, random), given)
          }
        }),
        { numRuns: PROGRAMS, endOnFailure: true, seed: SEED },
      )
    },
    TIMEOUT_MS,
  )

  test(
    'a program that is changed after a crash reaches its new end, or diverges before it does anything new and reaches its old end after a rollback',
    async () => {
      const report = reported()
      await fc.assert(
        fc.asyncProperty(namedProgram, edit, fc.nat(), async (given, change, seed) => {
          report(given, change, seed)
          const random = seeded(seed)
          const changed = edited(given, change)
          const whole = await live([{ program: given }], random)
          for (let diesAt = 2; diesAt < whole.log.length; diesAt++) {
            const lives = [{ program: given, diesAt }, { program: changed }]
            const ended = await live(lives, random)
            expectSound(ended)
            if (ended.diverged === undefined) {
              expectWhole(ended, ended.program)
              continue
            }
            expectNothingNew(ended)
            const rolledBack = await live([...lives, { program: given, isRollback: true }], random)
            expectSound(rolledBack)
            if (rolledBack.diverged === undefined || !hasRepeated(ended)) expectWhole(rolledBack, rolledBack.program)
          }
        }),
        { numRuns: PROGRAMS, endOnFailure: true, seed: SEED },
      )
    },
    TIMEOUT_MS,
  )
})

/**
 * Whether the changed program repeated a call of the log. Which of several equal calls is the recorded one is not known, so the last
 * of them does not wait for missing work, and a rollback may diverge again (docs/recovery.md).
 */
function hasRepeated({ effects, before }: Ended): boolean {
  const recorded = effects.slice(0, before.effects)
  return effects.slice(before.effects).some((effect) => recorded.includes(effect))
}

/** Expects that all work done after the change had started before it. */
function expectNothingNew({ effects, log, before }: Ended): void {
  const begun = log.flatMap((event) =>
    event.type === 'tool.called' && event.index < before.events
      ? [`${event.data.name}(${JSON.stringify(event.data.input)})`]
      : [],
  )
  expect(begun).toEqual(expect.arrayContaining(effects.slice(before.effects)))
}
