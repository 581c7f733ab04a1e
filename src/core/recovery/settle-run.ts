/** Ends a claimed run without executing it. */
import { RunFailure } from '../execution/run-failure.ts'
import { RunLog } from '../execution/run-log.ts'
import type { Failure } from '../model/event.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { StopRequest, StoredRun } from '../ports/store.ts'

/** A stop decides the outcome, even if the run must also fail (RUN-2). */
export async function settleRun(
  log: RunLog,
  stop: StopRequest | undefined,
  failure: Failure | undefined,
): Promise<void> {
  if (stop !== undefined) {
    const { at: _at, ...data } = stop
    log.append({ type: 'stop.requested', data })
    log.append({ type: 'run.cancelled', data })
  } else {
    log.append({ type: 'run.failed', data: { error: failure! } })
  }
  await log.flush()
}

/** Fails a run that could not be started, if this node still holds its claim. */
export async function failUnstartable(deps: NodeDeps, { run, epoch }: StoredRun, retries: number): Promise<void> {
  const now = await deps.store.get(run.id)
  if (now === undefined || now.epoch !== epoch) return
  const message = `starting the run failed ${retries} times; see the server log`
  await settleRun(new RunLog(deps, now), now.stop, new RunFailure('internal', message).failure)
}
