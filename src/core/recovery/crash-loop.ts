/** Decides when a run that was interrupted again and again is failed instead of executed (RUN-6). */
import { RunFailure } from '../execution/run-failure.ts'
import { SLOT_KEPT_MS_MAX } from '../execution/sleep-detector.ts'
import type { Failure, Suspect } from '../model/event.ts'
import type { Limits } from '../model/limits.ts'
import type { Run } from '../model/run.ts'
import type { Component } from '../ports/component.ts'
import type { Suspicion } from './crash-suspects.ts'
import type { RecordingReader } from './recording.ts'

/** What an interrupted run is suspected of. An attempt that made progress and was interrupted is the first of a new series. */
export function suspectOf(
  run: Run,
  { progress, asleepUntil }: RecordingReader,
  suspicion: Suspicion,
  now: number,
): Suspect {
  const { concurrency } = suspicion
  // Its last attempt had only slept for a long time, so it did not crash the process.
  if (asleepUntil !== undefined && now < asleepUntil && now - Date.parse(run.updatedAt) > SLOT_KEPT_MS_MAX)
    return { interruptions: 0, concurrency }
  if (progress.hasProgressed) return { interruptions: 1, concurrency: suspicion.concurrencyAfterProgress }
  // Older logs count all interruptions, not only those without progress.
  const before = run.suspect?.interruptions ?? run.interruptions ?? 0
  return { interruptions: before + 1, concurrency }
}

/** Why a suspect is not started again. */
export function crashLoopFailure(
  run: Run,
  component: Component,
  { interruptions }: Suspect,
  { among }: Suspicion,
  limits: Limits,
): Failure | undefined {
  const total = (run.interruptions ?? 0) + 1
  if (total >= limits.maxInterruptions) return interruptedTooOften(total)
  const maxAttempts = component.limits?.maxAttempts ?? limits.maxAttempts
  // Unless it was alone, another run may have been the cause.
  if (interruptions < maxAttempts || (among > 1 && maxAttempts > 1)) return undefined
  const message = `the run was interrupted in ${interruptions} attempts in a row, none of which made progress`
  return new RunFailure('interrupted', message).failure
}

export function interruptedTooOften(times: number): Failure {
  return new RunFailure('interrupted', `the run was interrupted ${times} times`).failure
}
