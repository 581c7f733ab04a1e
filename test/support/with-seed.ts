/** Tests that try things by chance: a failure names the seed and says how far the test was. */
import { onTestFailed, onTestFinished } from 'vitest'
import { Random, testSeed } from './random.ts'

const TELL_EVERY_MS = 30_000

/**
 * Whatever goes wrong says with which seed it did. What a body puts into `progress` is printed now and then, and when the test fails:
 * a test that runs out of time is ended from outside and throws nothing itself.
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
