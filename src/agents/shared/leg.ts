/** Runs a foreign framework up to its next question as one recorded step whose output is kept. */
import { type Emission, type RunContext, type WorkDetails, WorkError } from '../../core/ports/component.ts'
import type { Failure } from '../../core/model/event.ts'
import { failureOf } from '../../core/recovery/recorded-failure.ts'

/** Details of steps that only serve recovery: views of workflows do not show them as steps of the workflow. */
export const INTERNAL = { internal: true } as const

type LegEnd<Result> = { readonly result: Result } | { readonly failure: Failure }

/** Runs the work as a stage, once per run. Output before a failure is not retracted, because there is no retry. */
export async function leg<Result>(
  context: RunContext,
  name: string,
  work: () => AsyncGenerator<Emission, Result, void>,
  about: WorkDetails = { kind: 'agent' },
): Promise<Result> {
  const end = await context.stage(name, () => settle(context, work), about)
  if ('failure' in end) throw new WorkError(end.failure)
  return end.result
}

async function* settle<Result>(
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
