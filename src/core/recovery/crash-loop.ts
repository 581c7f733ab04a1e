/** Decides when a run that was interrupted repeatedly fails instead of executing again (RUN-6). */
import { RunFailure } from '../execution/run-failure.ts'
import { SLOT_KEPT_MS_MAX } from '../execution/sleep-detector.ts'
import type { Failure, Suspect } from '../model/event.ts'
import type { Limits } from '../model/limits.ts'
import type { Run } from '../model/run.ts'
import type { Component } from '../ports/component.ts'
import type { CrashGroup } from './crash-suspects.ts'
import type { RecordingReader } from './recording.ts'

/** Crash statistics of an interrupted run. An interrupted attempt that had made progress starts a new series. */
export function suspectOf(
  run: Run,
  { progress, asleepUntil }: RecordingReader,
  crashGroup: CrashGroup,
  now: number,
): Suspect {
  const { concurrency } = crashGroup
  // The last attempt had been sleeping for a long time, so it did not crash the process.
  if (asleepUntil !== undefined && now < asleepUntil && now - Date.parse(run.updatedAt) > SLOT_KEPT_MS_MAX)
    return { interruptions: 0, concurrency }
  if (progress.hasProgressed) return { interruptions: 1, concurrency: crashGroup.concurrencyAfterProgress }
  // Older logs count all interruptions, not only those without progress.
  const before = run.suspect?.interruptions ?? run.interruptions ?? 0
  return { interruptions: before + 1, concurrency }
}

/** The failure of a suspect that must not start again; undefined if it may. */
export function crashLoopFailure(
  run: Run,
  component: Component,
  { interruptions }: Suspect,
  { among }: CrashGroup,
  limits: Limits,
): Failure | undefined {
  const total = (run.interruptions ?? 0) + 1
  if (total >= limits.maxInterruptions) return interruptedTooOften(total)
  const maxAttempts = component.limits?.maxAttempts ?? limits.maxAttempts
  // Unless it executed alone, another run may have caused the crash.
  if (interruptions < maxAttempts || (among > 1 && maxAttempts > 1)) return undefined
  const message = `the run was interrupted ${interruptions} times in a row without progress in between: the server log may say what ends the process; maxAttempts limits this`
  return new RunFailure('interrupted', message).failure
}

export function interruptedTooOften(times: number): Failure {
  return new RunFailure('interrupted', `the run was interrupted ${times} times, which is the limit`).failure
}
