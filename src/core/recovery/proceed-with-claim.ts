/** Decides how a claimed run proceeds: start, resume, retry or fail. */
import { encodeEvent } from '../execution/emission.ts'
import type { RunExecution } from '../execution/run-execution.ts'
import { refusalOf, RunLog } from '../execution/run-log.ts'
import type { Event } from '../model/event.ts'
import { eventOf } from '../model/record.ts'
import type { Run } from '../model/run.ts'
import type { Component } from '../ports/component.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { StoredRun } from '../ports/store.ts'
import type { RunSlot } from '../scheduling/sleeping-runs.ts'
import { type RunAnswers, restartsAgent } from './run-answers.ts'
import type { CrashGroup } from './crash-suspects.ts'
import { divergedFailure } from './divergence.ts'
import { type ExaminedClaim, examineClaim } from './examine-claim.ts'
import { type Recording, RecordingReader } from './recording.ts'
import { settleRun } from './settle-run.ts'
import { type ExecutionStart, type LiveExecution, readOrigin, startExecution } from './start-execution.ts'

export interface ClaimResult {
  /** Absent if the run was ended immediately. */
  readonly live?: LiveExecution
  /** Set if the previous worker died or gave the run up: whether the run executes again or failed. */
  readonly takeover?: 'recovered' | 'failed'
}

/** Facts about a claimed run beyond its stored state. */
interface ClaimContext {
  readonly runAnswers: RunAnswers | undefined
  /** Its paused execution, if that is still in memory. */
  readonly parked: RunExecution | undefined
  /** Set if the run was interrupted by a crash. */
  readonly crashGroup: CrashGroup | undefined
  readonly slot: RunSlot
}

export async function proceedWithClaim(
  deps: NodeDeps,
  claimed: StoredRun,
  context: ClaimContext,
): Promise<ClaimResult> {
  try {
    return await settleOrExecute(deps, claimed, context)
  } catch (cause) {
    await context.parked?.release() // an agent that is not resumed runs its `finally` blocks
    throw refusalOf(cause)
  }
}

async function settleOrExecute(deps: NodeDeps, claimed: StoredRun, context: ClaimContext): Promise<ClaimResult> {
  const { runAnswers, parked, crashGroup, slot } = context
  const { run } = claimed
  const log = new RunLog(deps, claimed)
  const isInMemory = runAnswers !== undefined && parked !== undefined && !restartsAgent(run, runAnswers)
  // Read before anything is written: if the store failed in between, the run would look interrupted.
  const examined = await examineClaim(deps, claimed, {
    isAnsweredHere: runAnswers !== undefined,
    isInMemory,
    crashGroup,
  })
  const { stop, failure, component, recording, isTakenOver } = examined
  if (stop !== undefined || failure !== undefined || component === undefined) {
    await parked?.release()
    await settleRun(log, stop, failure)
    return isTakenOver && stop === undefined ? { takeover: 'failed' } : {}
  }
  if (isInMemory) return resumeInMemory({ deps, log, component, slot }, runAnswers, parked)
  const origin = await readOrigin(deps, run.id)
  if (runAnswers !== undefined) {
    await write(log, [runResumed(runAnswers, component)], recording)
    await parked?.release()
  } else {
    await write(log, startEvents(run, component, examined), recording)
  }
  const start = { deps, log, component, origin, slot }
  return startUnlessFailed(start, await recording?.recording(), isTakenOver)
}

async function resumeInMemory(
  { deps, log, component, slot }: Omit<ExecutionStart, 'origin'>,
  runAnswers: RunAnswers,
  parked: RunExecution,
): Promise<ClaimResult> {
  const [written] = await write(log, [runResumed(runAnswers, component)])
  if (!parked.isOver) return { live: { execution: parked, ended: parked.resumeWith(log, written!.data.answers) } }
  // Another branch of the agent wrote under the earlier lease and was refused: the run resumes from its log.
  const { id } = log.run
  const recording = await RecordingReader.read(deps.store, id, log.next, deps.limits.maxReadBytes)
  const origin = await readOrigin(deps, id)
  return startUnlessFailed({ deps, log, component, origin, slot }, await recording.recording(), false)
}

/** Starts the run, or fails it if its owner decided so after a divergence. */
async function startUnlessFailed(
  start: ExecutionStart,
  recording: Recording | undefined,
  isTakenOver: boolean,
): Promise<ClaimResult> {
  if (recording?.decision === 'fail') {
    const message = "the code no longer matches the run's log; its owner chose to fail the run"
    await settleRun(start.log, undefined, divergedFailure(message))
    return {}
  }
  return { live: startExecution(start, recording), ...(isTakenOver && { takeover: 'recovered' }) }
}

function runResumed(runAnswers: RunAnswers, component: Component): Extract<Event, { type: 'run.resumed' }> {
  return { type: 'run.resumed', data: { ...runAnswers, ...versionOf(component) } }
}

/** `run.started` of the next attempt. A component that restarts first retracts the last attempt. */
function startEvents(run: Run, component: Component, { isAnswered, suspect, recording }: ExaminedClaim): Event[] {
  const discardsLastAttempt = run.status === 'running' && component.recovery === 'retry' && !isAnswered
  const started: Event = {
    type: 'run.started',
    data: {
      attempt: run.attempt + 1,
      ...versionOf(component),
      ...(suspect !== undefined && { suspect }),
    },
  }
  return discardsLastAttempt && recording !== undefined ? [attemptDiscarded(run, recording), started] : [started]
}

function attemptDiscarded({ attempt }: Run, { attemptFrom: from }: RecordingReader): Event {
  return {
    type: 'attempt.discarded',
    data: { attempt, from, scope: 'all', ledger: 'dropped', reason: 'interrupted' },
  }
}

function versionOf({ version }: Component): { readonly version?: string } {
  return version === undefined ? {} : { version }
}

/** Writes events, and passes them to the reader of the recording. Resolves with the events as stored. */
async function write<Written extends Event>(
  log: RunLog,
  additions: readonly Written[],
  recording?: RecordingReader,
): Promise<Written[]> {
  const written = additions.map((event) => {
    const index = log.next
    const appended = log.append(event)
    const stored = eventOf(encodeEvent(appended, log.bounds).body)
    recording?.note({ ...stored, run: log.run.id, index, time: log.run.updatedAt })
    return appended
  })
  await log.flush()
  return written
}
