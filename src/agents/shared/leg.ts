/** A stretch of work of something that does not know Holdfast, from one question to the next: a step whose output stays. */
import { type Emission, type RunContext, type StepDetails, WorkFailure } from '../../core/ports/component.ts'
import type { Failure } from '../../core/model/event.ts'
import { failureOf } from '../../core/recovery/recorded-failure.ts'

type LegEnd<Result> = { readonly result: Result } | { readonly failure: Failure }

/**
 * Does the work as a stage, once per run. What it said before it failed was said, and is not withdrawn: nobody tries it again.
 */
export async function leg<Result>(
  context: RunContext,
  name: string,
  work: () => AsyncGenerator<Emission, Result, void>,
  about: StepDetails = { kind: 'agent' },
): Promise<Result> {
  const end = await context.stage(name, () => settled(context, work), about)
  if ('failure' in end) throw new WorkFailure(end.failure)
  return end.result
}

async function* settled<Result>(
  { signal }: RunContext,
  work: () => AsyncGenerator<Emission, Result, void>,
): AsyncGenerator<Emission, LegEnd<Result>, void> {
  try {
    return { result: yield* work() }
  } catch (thrown) {
    if (signal.aborted) throw thrown
    return { failure: failureOf(thrown) }
  }
}
