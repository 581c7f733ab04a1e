/** Randomized tests: failures report the seed and the progress. */
import { onTestFailed, onTestFinished } from 'vitest'
import { Random, testSeed } from './random.ts'

const TELL_EVERY_MS = 30_000

/**
 * Adds the seed to failures. `progress` is printed periodically and on failure, because a test that times out throws nothing itself.
 */
export async function withSeed(
  body: (random: Random, progress: Record<string, unknown>) => Promise<void>,
): Promise<void> {
  const random = new Random(testSeed())
  const progress: Record<string, unknown> = {}
  const tell = (): void => console.info(`seed ${random.seed}: ${JSON.stringify(progress)}`)
  const telling = setInterval(tell, TELL_EVERY_MS)
  onTestFinished(() => clearInterval(telling))
  onTestFailed(tell)
  try {
    await body(random, progress)
  } catch (cause) {
    throw new Error(`with HOLDFAST_TEST_SEED=${random.seed}: ${String(cause)}`, { cause })
  }
}
