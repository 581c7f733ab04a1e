/** Decides how a claimed run proceeds: start, resume, recover or fail. */
import type { Component } from '../ports/component.ts'
import { encodeEvent } from '../execution/emission.ts'
import { RunFailure } from '../execution/run-failure.ts'
import { divergedFailure } from './divergence.ts'
import type { Event, EventData, Failure, Suspect } from '../model/event.ts'
import { type Recording, RecordingReader } from './recording.ts'
import { Ledger } from './ledger.ts'
import type { Limits } from '../model/limits.ts'
import { readLog } from '../delivery/read-log.ts'
import type { Logger } from '../ports/logger.ts'
import type { Digest, NodeDeps } from '../ports/node-deps.ts'
import { eventOf, events } from '../model/record.ts'
import { redactingLogger } from '../redaction/redacting-logger.ts'
import { redactorOf } from '../redaction/redactor.ts'
import { Replay } from './replay.ts'
import { SLOT_KEPT_MS_MAX } from '../execution/sleep-detector.ts'
import type { Run } from '../model/run.ts'
import { refusalOf, RunLog } from '../execution/run-log.ts'
import { RunExecution, type ExecutionEnd } from '../execution/run-execution.ts'
import type { RunSlot } from '../scheduling/sleeping-runs.ts'
import { TokenUsage } from '../execution/token-usage.ts'
import type { StopRequest, Store, StoredRun } from '../ports/store.ts'
import { type Suspicion, wasInterrupted } from './crash-suspects.ts'
import { divergenceDecision } from './ledger-reader.ts'

/** Answers to a paused run's questions. */
export interface Continuation {
  readonly answers: Readonly<Record<string, unknown>>
  readonly by?: string
}

export interface LiveExecution {
  readonly execution: RunExecution
  readonly ended: Promise<ExecutionEnd>
}

export interface ClaimResult {
  /** Absent if the run was ended at once. */
  readonly begun?: LiveExecution
  /** Set if the previous worker died or gave the run up: whether the run executes again, or failed. */
  readonly takenUp?: 'recovered' | 'lost'
}

/** Release reason of a run whose answers are in its log and that no worker has resumed yet. */
const ANSWERED = 'answered' satisfies ReleaseReason

/** What is known about a claimed run beyond its stored state. */
interface ClaimContext {
  readonly continuation: Continuation | undefined
  /** Its paused execution, if that is still in memory. */
  readonly parked: RunExecution | undefined
  /** Set for an interrupted run that is to execute again. */
  readonly suspicion: Suspicion | undefined
  readonly slot: RunSlot
}

/** Decides how a claimed run proceeds: start, resume, recover or fail. */
export async function proceedWithClaim(
  parts: NodeDeps,
  claimed: StoredRun,
  circumstances: ClaimContext,
): Promise<ClaimResult> {
  try {
    return await settleOrExecute(parts, claimed, circumstances)
  } catch (cause) {
    await circumstances.parked?.release() // an agent that is not resumed runs its `finally` blocks
    throw refusalOf(cause)
  }
}

/** Records the answers of a run that executes elsewhere: the next worker that claims it resumes with them. */
export async function releaseWithAnswers(
  parts: NodeDeps,
  claimed: StoredRun,
  continuation: Continuation,
): Promise<void> {
  const log = new RunLog(parts, claimed)
  log.append({ type: 'run.resumed', data: continuation })
  log.append({ type: 'run.released', data: { reason: ANSWERED } })
  await log.flush().catch((cause: unknown) => {
    throw refusalOf(cause)
  })
}

/** Fails a run that could not be started, if this node still holds its claim. */
export async function failUnstartable(parts: NodeDeps, { run, epoch }: StoredRun, retries: number): Promise<void> {
  const now = await parts.store.get(run.id)
  if (now === undefined || now.epoch !== epoch) return
  const message = `starting the run failed ${retries} times; see the server log`
  await settle(new RunLog(parts, now), now.stop, new RunFailure('internal', message).failure)
}

async function settleOrExecute(
  parts: NodeDeps,
  claimed: StoredRun,
  { continuation, parked, suspicion = LONE, slot }: ClaimContext,
): Promise<ClaimResult> {
  const { store, limits, registry } = parts
  const { run, next } = claimed
  const log = new RunLog(parts, claimed)
  let stop = claimed.stop ?? (await store.get(run.id))?.stop
  const component = registry.find(run.component)
  const released = continuation === undefined ? await releaseReason(store, claimed) : undefined
  const isAnswered = continuation !== undefined || released === ANSWERED
  const isSuspect = !isAnswered && wasInterrupted(run)
  const isOrphan = isSuspect || released === 'store_unavailable'
  let failure = stop === undefined ? refusal(run, component, isAnswered, released, limits) : undefined
  const isRefused = stop !== undefined || failure !== undefined
  const isParked = continuation !== undefined && parked !== undefined && !isRestart(run, continuation)
  // Read before anything is written: a store that goes away in between would make the run look interrupted.
  const past =
    run.status === 'queued' || isRefused || isParked
      ? undefined
      : await RecordingReader.read(store, run.id, next, limits.readBytesMax)
  const suspect = isSuspect && past !== undefined ? suspectOf(run, past, suspicion, parts.clock.now()) : undefined
  if (suspect !== undefined) failure = conviction(run, component!, suspect, suspicion, limits)
  // Reading the log takes a while: a stop that was accepted meanwhile decides the outcome (RUN-2).
  if (past !== undefined && failure !== undefined) stop ??= (await store.get(run.id))?.stop
  if (stop !== undefined || failure !== undefined || component === undefined) {
    await parked?.release()
    await settle(log, stop, failure)
    return isOrphan && stop === undefined ? { takenUp: 'lost' } : {}
  }
  const resumed = continuation && {
    type: 'run.resumed' as const,
    data: { ...continuation, ...versionOf(component) },
  }
  if (isParked) {
    const [written] = await write(log, [resumed!])
    if (!parked.isOver) return { begun: { execution: parked, ended: parked.continueWith(log, written!.data.answers) } }
    // Another branch of the agent wrote under the earlier lease and lost it: the run resumes from its log.
    const whole = await RecordingReader.read(store, run.id, log.next, limits.readBytesMax)
    const origin = await originOf(parts, run.id)
    return started({ parts, log, component, origin, slot }, await whole.recording(), false)
  }
  const origin = await originOf(parts, run.id)
  if (resumed !== undefined) {
    await write(log, [resumed], past)
    await parked?.release()
  } else {
    const isAfresh = run.status === 'running' && component.recovery === 'retry' && !isAnswered
    const begins: Event = {
      type: 'run.started',
      data: { attempt: run.attempt + 1, ...versionOf(component), ...(suspect !== undefined && { suspect }) },
    }
    await write(log, isAfresh && past !== undefined ? [discarded(run, past), begins] : [begins], past)
  }
  return started({ parts, log, component, origin, slot }, await past?.recording(), isOrphan)
}

/** Writes events, and passes them to the reader of the recording. Resolves with the events as the log has them. */
async function write<Written extends Event>(
  log: RunLog,
  additions: readonly Written[],
  past?: RecordingReader,
): Promise<Written[]> {
  const written = additions.map((event) => {
    const index = log.next
    const kept = log.append(event)
    const stored = eventOf(encodeEvent(kept, log.bounds).body)
    past?.note({ ...stored, run: log.run.id, index, time: log.run.updatedAt })
    return kept
  })
  await log.flush()
  return written
}

/** What an execution needs besides the ledger of its run. */
interface ExecutionParts {
  readonly parts: NodeDeps
  readonly log: RunLog
  readonly component: Component
  readonly origin: Origin
  readonly slot: RunSlot
}

/** What a run was created with. */
interface Origin {
  readonly input: unknown
  readonly digest: Digest
}

/** Read before the start is written: a store that goes away in between would make the run look interrupted. */
async function originOf({ store, digests }: NodeDeps, id: string): Promise<Origin> {
  const first = await readLog(store, id, -1, 1)
  const { input } = events(first!)[0]!.data as EventData['run.created']
  return { input, digest: await digests.of(id) }
}

/** `recording` is absent for a run that never ran. */
async function started(
  { parts, log, component, origin, slot }: ExecutionParts,
  recording: Recording | undefined,
  isOrphan: boolean,
): Promise<ClaimResult> {
  if (recording?.decision === 'fail') {
    const message = "the code no longer matches the run's log; its owner chose to fail the run"
    await settle(log, undefined, divergedFailure(message))
    return {}
  }
  const execution = new RunExecution({
    ...parts,
    ...origin,
    logger: loggerFor(parts, component),
    component,
    log,
    ledger: recording?.ledger ?? new Ledger(),
    spending: recording?.spending ?? new TokenUsage(),
    replay: recording && new Replay(recording.output),
    slot,
  })
  return { begun: { execution: execution, ended: execution.start() }, ...(isOrphan && { takenUp: 'recovered' }) }
}

/** The logger already applies the server's redaction rules. */
function loggerFor({ logger }: NodeDeps, { redact }: Component): Logger {
  const own = redactorOf(undefined, redact)
  return own === undefined ? logger : redactingLogger(logger, own)
}

type ReleaseReason = EventData['run.released']['reason']

/** Why the last worker released a run that has not been started since. */
async function releaseReason(store: Store, { run, next }: StoredRun): Promise<ReleaseReason | undefined> {
  if (run.status !== 'running' || run.released !== true) return undefined
  const slice = await readLog(store, run.id, next - 2, 1)
  const last = slice === undefined ? undefined : events(slice).at(-1)
  return last?.type === 'run.released' ? last.data.reason : undefined
}

function discarded({ attempt }: Run, { attemptFrom: from }: RecordingReader): Event {
  return {
    type: 'attempt.discarded',
    data: { attempt, from, scope: 'all', ledger: 'dropped', reason: 'interrupted' },
  }
}

function versionOf({ version }: Component): { readonly version?: string } {
  return version === undefined ? {} : { version }
}

/** Whether an agent that is still in memory must restart from its log, because its code was fixed. */
function isRestart({ waiting = [] }: Run, { answers }: Continuation): boolean {
  return waiting.some(({ id, kind }) => kind === 'diverged' && divergenceDecision(answers[id]) === 'retry')
}

/** Default suspicion: no other run is known to have executed beside it. */
const LONE: Suspicion = { among: 1, concurrency: 1, concurrencyAfterProgress: 1 }

/** What an interrupted run is suspected of. An attempt that made progress and was interrupted is the first of a new series. */
function suspectOf(run: Run, { progress, asleepUntil }: RecordingReader, suspicion: Suspicion, now: number): Suspect {
  const { concurrency } = suspicion
  // Its last attempt had only slept for a long time, so it did not crash the process.
  if (asleepUntil !== undefined && now < asleepUntil && now - Date.parse(run.updatedAt) > SLOT_KEPT_MS_MAX)
    return { interruptions: 0, concurrency }
  if (progress.hasProgressed) return { interruptions: 1, concurrency: suspicion.concurrencyAfterProgress }
  // Older logs count all interruptions, not only those without progress.
  const before = run.suspect?.interruptions ?? run.interruptions ?? 0
  return { interruptions: before + 1, concurrency }
}

/** Why an interrupted run is not started again. */
function conviction(
  run: Run,
  component: Component,
  { interruptions }: Suspect,
  { among }: Suspicion,
  limits: Limits,
): Failure | undefined {
  const total = (run.interruptions ?? 0) + 1
  if (total >= limits.interruptionsMax) return interruptedTooOften(total)
  const attemptsMax = component.limits?.attemptsMax ?? limits.attemptsMax
  // Unless it was alone, another run may have been the cause.
  if (interruptions < attemptsMax || (among > 1 && attemptsMax > 1)) return undefined
  return interrupted(`the run was interrupted in ${interruptions} attempts in a row, none of which made progress`)
}

/** Why a claimed run must fail instead of executing. */
function refusal(
  run: Run,
  component: Component | undefined,
  isAnswered: boolean,
  released: ReleaseReason | undefined,
  limits: Limits,
): Failure | undefined {
  const { status, waiting, interruptions = 0 } = run
  if (component === undefined)
    return { code: 'unsupported', message: `component ${run.component} is not served any more` }
  if (isAnswered || status === 'queued') return undefined
  if (status === 'paused') {
    const prompts = (waiting ?? []).map(({ prompt }) => prompt).join('; ')
    return new RunFailure('deadline_exceeded', `nobody answered in time: ${prompts}`).failure
  }
  if ((component.recovery ?? 'fail') === 'fail') {
    return interrupted(causes[released ?? 'died'])
  }
  // A run that was handed over properly may be started any number of times.
  return released === 'store_unavailable' && interruptions >= limits.interruptionsMax
    ? interruptedTooOften(interruptions)
    : undefined
}

/** Why a run is not executing any more. */
const causes: Readonly<Record<ReleaseReason | 'died', string>> = {
  draining: 'the server that executed the run was shut down',
  answered: 'the server that executed the run was shut down',
  store_unavailable: 'the node that executed the run gave it up because its store was unavailable',
  died: 'the worker that executed the run died',
}

function interruptedTooOften(times: number): Failure {
  return interrupted(`the run was interrupted ${times} times`)
}

function interrupted(message: string): Failure {
  return new RunFailure('interrupted', message).failure
}

/** Ends a run that nobody executes. */
async function settle(log: RunLog, stop: StopRequest | undefined, failure: Failure | undefined): Promise<void> {
  if (stop !== undefined) {
    const { at: _at, ...data } = stop
    log.append({ type: 'stop.requested', data })
    log.append({ type: 'run.cancelled', data })
  } else {
    log.append({ type: 'run.failed', data: { error: failure! } })
  }
  await log.flush()
}
