/** Keeps the caller's credential out of the log: an upstream may repeat it in its output. */
import { type Component, type Emission, type RunContext, WorkError } from '../../core/ports/component.ts'
import type { SourceHost } from '../../core/ports/component-source.ts'
import type { Failure } from '../../core/model/event.ts'
import type { CallerCredential } from '../../core/model/caller-credential.ts'
import { RemoteError } from '../shared/remote.ts'

/** The credential of the run that this context belongs to. */
export async function credentialOf(
  host: SourceHost | undefined,
  { runId, owner }: Pick<RunContext, 'runId' | 'owner'>,
): Promise<CallerCredential> {
  const credential = await host?.credentialOf(startedRun(runId, owner))
  if (credential !== undefined) return credential
  const message =
    "the caller's credential was not kept across a restart, so the run cannot continue: set --secret-key, which encrypts it"
  throw new WorkError({ code: 'interrupted', message, retryable: true })
}

/** A called component has an id within its run. */
function startedRun(run: string, owner: string): { readonly id: string; readonly owner: string } {
  return { id: run.split('/', 1)[0]!, owner }
}

export function hidingCredential(component: Component, host: () => SourceHost | undefined): Component {
  return {
    ...component,
    async *run(input, context) {
      const credential = await credentialOf(host(), context)
      const work = component.run(input, hidingContext(context, credential)) as Output<unknown>
      const report = async (decision: 'accepted' | 'refused'): Promise<void> =>
        host()?.onVerdict?.(startedRun(context.runId, context.owner), decision)
      return yield* reporting(cleaned(work, credential), report)
    },
  }
}

/** Any output of an upstream means that it has accepted the credential. */
async function* reporting<Result>(
  work: Output<Result>,
  report: (decision: 'accepted' | 'refused') => Promise<void>,
): Output<Result> {
  let isReported = false
  try {
    for (;;) {
      const { done, value } = await work.next()
      if (!isReported) await report('accepted')
      isReported = true
      if (done === true) return value
      yield value
    }
  } catch (thrown) {
    if (thrown instanceof WorkError && isUnauthorized(thrown.failure)) await report('refused')
    throw thrown
  } finally {
    await work.return(undefined as Result)
  }
}

function isUnauthorized({ details }: Failure): boolean {
  return (details as { readonly status?: unknown } | undefined)?.status === 401
}

type Output<Result> = AsyncGenerator<Emission, Result, void>

/** Also removes it from results and failures of steps, which are logged too. */
function hidingContext(context: RunContext, credential: CallerCredential): RunContext {
  return {
    ...context,
    get replaying() {
      return context.replaying
    },
    step: (name, work, options) =>
      context.step(
        name,
        async (signal) => {
          try {
            return credential.removeFrom(await work(signal))
          } catch (thrown) {
            throw withoutCredential(thrown, credential)
          }
        },
        options,
      ),
    stage: (name, work, options) => context.stage(name, () => cleaned(work(), credential), options),
  }
}

async function* cleaned<Result>(work: Output<Result>, credential: CallerCredential): Output<Result> {
  try {
    for (;;) {
      const { done, value } = await work.next()
      if (done === true) return credential.removeFrom(value)
      yield credential.removeFrom(value)
    }
  } catch (thrown) {
    throw withoutCredential(thrown, credential)
  } finally {
    await work.return(undefined as Result)
  }
}

function withoutCredential(thrown: unknown, credential: CallerCredential): unknown {
  if (!(thrown instanceof WorkError) && !(thrown instanceof RemoteError)) return thrown
  const failure = credential.removeFrom(thrown.failure)
  return failure === thrown.failure ? thrown : new WorkError(failure)
}
