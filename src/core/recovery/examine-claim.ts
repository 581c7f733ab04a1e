/** Collects what decides how a claimed run proceeds. Writes nothing. */
import type { Failure, Suspect } from '../model/event.ts'
import { events } from '../model/record.ts'
import { readCheckedLog } from '../delivery/read-log.ts'
import type { Component } from '../ports/component.ts'
import type { NodeDeps } from '../ports/node-deps.ts'
import type { StopRequest, Store, StoredRun } from '../ports/store.ts'
import { claimRefusal, type ReleaseReason } from './claim-refusal.ts'
import { crashLoopFailure, suspectOf } from './crash-loop.ts'
import { type Suspicion, wasInterrupted } from './crash-suspects.ts'
import { RecordingReader } from './recording.ts'

export interface ClaimQuestion {
  readonly isAnsweredHere: boolean
  /** The execution is still in memory and can be resumed there, so its log need not be read. */
  readonly isInMemory: boolean
  /** Absent unless the run was interrupted together with others. */
  readonly suspicion: Suspicion | undefined
}

export interface ExaminedClaim {
  /** Set if a stop was requested. */
  readonly stop: StopRequest | undefined
  /** Why the run must fail. */
  readonly failure: Failure | undefined
  readonly component: Component | undefined
  /** Its questions are answered, by this claim or by an earlier one that was released. */
  readonly isAnswered: boolean
  /** The previous worker died or gave the run up. */
  readonly isOrphan: boolean
  /** Set for an interrupted run that is to execute again. */
  readonly suspect: Suspect | undefined
  /** What its log has. Absent for a run that never ran, that is in memory, or that must end. */
  readonly recording: RecordingReader | undefined
}

/** Default suspicion: no other run is known to have executed beside it. */
const LONE: Suspicion = { among: 1, concurrency: 1, concurrencyAfterProgress: 1 }

export async function examineClaim(
  { store, limits, registry, clock }: NodeDeps,
  claimed: StoredRun,
  { isAnsweredHere, isInMemory, suspicion = LONE }: ClaimQuestion,
): Promise<ExaminedClaim> {
  const { run, next } = claimed
  let stop = claimed.stop ?? (await store.get(run.id))?.stop
  const component = registry.find(run.component)
  const released = isAnsweredHere ? undefined : await releaseReason(store, claimed)
  const isAnswered = isAnsweredHere || released === 'answered'
  const isSuspect = !isAnswered && wasInterrupted(run)
  const isOrphan = isSuspect || released === 'store_unavailable'
  let failure = stop === undefined ? claimRefusal(run, component, isAnswered, released, limits) : undefined
  const mustEnd = stop !== undefined || failure !== undefined
  const recording =
    run.status === 'queued' || mustEnd || isInMemory
      ? undefined
      : await RecordingReader.read(store, run.id, next, limits.maxReadBytes)
  const suspect = isSuspect && recording !== undefined ? suspectOf(run, recording, suspicion, clock.now()) : undefined
  if (suspect !== undefined) failure = crashLoopFailure(run, component!, suspect, suspicion, limits)
  // Reading the log takes a while: a stop that was accepted meanwhile decides the outcome (RUN-2).
  if (recording !== undefined && failure !== undefined) stop ??= (await store.get(run.id))?.stop
  return { stop, failure, component, isAnswered, isOrphan, suspect, recording }
}

/** Why the last worker released a run that has not been started since. */
async function releaseReason(store: Store, { run, next }: StoredRun): Promise<ReleaseReason | undefined> {
  if (run.status !== 'running' || run.released !== true) return undefined
  const slice = await readCheckedLog(store, run.id, next - 2, 1)
  const last = slice === undefined ? undefined : events(slice).at(-1)
  return last?.type === 'run.released' ? last.data.reason : undefined
}
