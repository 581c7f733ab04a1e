/**
 * Runs a property for some seconds and fails with its seed and the smallest case that breaks it. `npm run fuzz` takes a new seed
 * each time. `npm test` gives every target a few seconds of the same cases: a suite that fails by chance proves nothing.
 */
import fc from 'fast-check'
import { testSeed } from '../support/random.ts'

/** The seed in `npm test`. It once found a body whose characters became fields. */
const SUITE_SEED = 3_890_359_944

/** How long a target is fuzzed, in seconds. */
export function fuzzSeconds(inTests: number): number {
  const given = process.env['HOLDFAST_FUZZ_SECONDS']
  return given === undefined ? inTests : Number(given)
}

/** Timeout of a test that fuzzes for this long: shrinking takes longer than finding. */
export function fuzzTimeoutMs(seconds: number): number {
  return seconds * 3000 + 300_000
}

const SHRINK_MS_MAX = 120_000

/** Tries cases until the time is up or one fails. Slow dependencies are started before. */
export async function assertHolds<Case>(
  what: string,
  cases: fc.Arbitrary<Case>,
  seconds: number,
  hold: (tried: Case) => Promise<void> | void,
): Promise<void> {
  const isCampaign = process.env['HOLDFAST_FUZZ_SECONDS'] !== undefined
  const seed = isCampaign || process.env['HOLDFAST_TEST_SEED'] !== undefined ? testSeed() : SUITE_SEED
  let tried = 0
  let failedAt: number | undefined
  let last: { readonly tried: Case; readonly done: Promise<void> } | undefined
  const property = fc.asyncProperty(cases, async (each) => {
    tried++
    // Shrinking ends when it has taken long enough: every case passes from then on.
    if (failedAt !== undefined && performance.now() - failedAt > SHRINK_MS_MAX) return
    last = { tried: each, done: (async () => hold(each))() }
    try {
      await last.done
    } catch (cause) {
      failedAt ??= performance.now()
      throw cause
    }
  })
  const { counterexample, errorInstance, numShrinks } = await fc.check(property, {
    seed,
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: seconds * 1000,
    markInterruptAsFailure: false,
  })
  const failure = (cause: unknown, smallest: unknown): Error =>
    new Error(
      `${what}: ${String(cause)}\nwith HOLDFAST_TEST_SEED=${seed}, shrunk ${numShrinks} times, for\n${fc.stringify(smallest).slice(0, 5000)}`,
      { cause },
    )
  if (counterexample !== null) throw failure(errorInstance, counterexample[0])
  // The case in progress when time runs out finishes by itself.
  await last?.done.catch((cause: unknown) => {
    throw failure(cause, last?.tried)
  })
  if (isCampaign) console.log(`${what}: ${tried} cases, seed ${seed}`)
}
