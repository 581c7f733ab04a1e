/** Reads everything needed to decide how a claimed run proceeds. Read-only. */
import type { Failure, Suspect } from '../model/event.ts'
import { events } from '../model/slice.ts'
import { readCheckedLog } from '../delivery/read-log.ts'
import type { Component } from '../ports/component.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { StopRequest, Store, StoredRun } from '../ports/store.ts'
import { claimRefusal, type ReleaseReason } from './claim-refusal.ts'
import { crashLoopFailure, suspectOf } from './crash-loop.ts'
import { type CrashGroup, wasInterrupted } from './crash-suspects.ts'
import { RecordingReader } from './recording.ts'

export interface ExamineOptions {
  readonly isAnsweredHere: boolean
  /** The execution is still in memory and can be resumed there, so its log need not be read. */
  readonly isInMemory: boolean
  /** Set if the run was interrupted by a crash. */
  readonly crashGroup: CrashGroup | undefined
}

export interface ExaminedClaim {
  /** Set if a stop was requested. */
  readonly stop: StopRequest | undefined
  /** Set if the run must fail. */
  readonly failure: Failure | undefined
  readonly component: Component | undefined
  /** Its questions are answered, by this claim or by an earlier one that was released. */
  readonly isAnswered: boolean
  /** The previous worker died or gave the run up. */
  readonly isTakenOver: boolean
  /** Set for an interrupted run that is to execute again. */
  readonly suspect: Suspect | undefined
  /** Recorded work and output of earlier attempts. Absent for a run that never ran, is in memory, or must end. */
  readonly recording: RecordingReader | undefined
}

/** Default: the run executed alone. */
const LONE: CrashGroup = { among: 1, concurrency: 1, concurrencyAfterProgress: 1 }

export async function examineClaim(
  { store, limits, registry, clock }: NodeDeps,
  claimed: StoredRun,
  { isAnsweredHere, isInMemory, crashGroup = LONE }: ExamineOptions,
): Promise<ExaminedClaim> {
  const { run, next } = claimed
  let stop = claimed.stop ?? (await store.get(run.id))?.stop
  const component = registry.find(run.component)
  const released = isAnsweredHere ? undefined : await releaseReason(store, claimed)
  const isAnswered = isAnsweredHere || released === 'answered'
  const isSuspect = !isAnswered && wasInterrupted(run)
  const isTakenOver = isSuspect || released === 'store_unavailable'
  let failure = stop === undefined ? claimRefusal(run, component, isAnswered, released, limits) : undefined
  const mustEnd = stop !== undefined || failure !== undefined
  const recording =
    run.status === 'queued' || mustEnd || isInMemory
      ? undefined
      : await RecordingReader.read(store, run.id, next, limits.maxReadBytes)
  const suspect = isSuspect && recording !== undefined ? suspectOf(run, recording, crashGroup, clock.now()) : undefined
  if (suspect !== undefined) failure = crashLoopFailure(run, component!, suspect, crashGroup, limits)
  // Reading the log takes time: a stop that was accepted meanwhile decides the outcome (RUN-2).
  if (recording !== undefined && failure !== undefined) stop ??= (await store.get(run.id))?.stop
  return { stop, failure, component, isAnswered, isTakenOver, suspect, recording }
}

/** Why the last worker released the run; undefined if it has been started since. */
async function releaseReason(store: Store, { run, next }: StoredRun): Promise<ReleaseReason | undefined> {
  if (run.status !== 'running' || run.released !== true) return undefined
  const slice = await readCheckedLog(store, run.id, next - 2, 1)
  const last = slice === undefined ? undefined : events(slice).at(-1)
  return last?.type === 'run.released' ? last.data.reason : undefined
}
