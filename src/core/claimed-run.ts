/** What becomes of a run that was claimed: it is started, gone on with, or ended because it cannot be. */
import type { Component } from './agent.ts'
import { RunFailure } from './emission.ts'
import type { EventData, Failure } from './event.ts'
import { loadHistory } from './history.ts'
import type { Limits } from './limits.ts'
import type { NodeParts } from './parts.ts'
import { events } from './record.ts'
import { Replay } from './replay.ts'
import { RunLog } from './run-log.ts'
import { Drive, type DriveEnd } from './runner.ts'
import { Spending } from './spending.ts'
import type { StopRequest, Store, StoredRun } from './store.ts'

/** Answers to a paused run's questions. */
export interface Continuation {
  readonly answers: Readonly<Record<string, unknown>>
  readonly by?: string
}

export interface Begun {
  readonly drive: Drive
  readonly ended: Promise<DriveEnd>
}

export interface Beginning {
  /** Absent when the run was ended at once. */
  readonly begun?: Begun
  /** What became of a run whose worker had died. */
  readonly takenUp?: 'recovered' | 'lost'
}

/** Why a run was released whose answers are in its log, and that no worker has gone on with yet. */
const ANSWERED = 'answered'

/** Decides what a claimed run needs, and does it. `parked` is its agent, where that is still in memory. */
export async function begin(
  parts: NodeParts,
  claimed: StoredRun,
  continuation: Continuation | undefined,
  parked: Drive | undefined,
): Promise<Beginning> {
  try {
    return await settleOrDrive(parts, claimed, continuation, parked)
  } catch (cause) {
    await parked?.release() // an agent that is not continued comes to its `finally`
    throw cause
  }
}

/** Writes the answers to a run that is driven elsewhere: whoever claims it next goes on with them. */
export async function handOver(parts: NodeParts, claimed: StoredRun, continuation: Continuation): Promise<void> {
  const log = logOf(parts, claimed)
  log.append({ type: 'run.resumed', data: continuation })
  log.append({ type: 'run.released', data: { reason: ANSWERED } })
  await log.flush()
}

/** Ends a run that could not be begun, if it is still ours. */
export async function failUnbegun(parts: NodeParts, { run, epoch }: StoredRun, setbacks: number): Promise<void> {
  const now = await parts.store.get(run.id)
  if (now === undefined || now.epoch !== epoch) return
  const message = `the run could not be started, ${setbacks} times in a row; the server's log says why`
  await settle(logOf(parts, now), now.stop, new RunFailure('internal', message).failure)
}

async function settleOrDrive(
  parts: NodeParts,
  claimed: StoredRun,
  continuation: Continuation | undefined,
  parked: Drive | undefined,
): Promise<Beginning> {
  const { store, limits, registry } = parts
  const { run, next } = claimed
  const log = logOf(parts, claimed)
  const stop = claimed.stop ?? (await store.get(run.id))?.stop
  const component = registry.find(run.component)
  const isAnswered = continuation !== undefined || (await wasAnswered(store, claimed))
  const failure = stop === undefined ? refusal(claimed, component, isAnswered, limits) : undefined
  const isOrphan = !isAnswered && run.status === 'running' && run.released !== true
  if (stop !== undefined || failure !== undefined || component === undefined) {
    await parked?.release()
    await settle(log, stop, failure)
    return isOrphan && stop === undefined ? { takenUp: 'lost' } : {}
  }
  if (continuation !== undefined) {
    log.append({ type: 'run.resumed', data: continuation })
    await log.flush()
    if (parked !== undefined) return { begun: { drive: parked, ended: parked.continueWith(log, continuation.answers) } }
  } else {
    const isAfresh = run.status === 'running' && component.recovery === 'retry' && !isAnswered
    if (isAfresh) await discardAttempt(parts, log)
    log.append({ type: 'run.started', data: { attempt: run.attempt + 1 } })
    await log.flush()
  }
  const drive = await prepare(parts, log, component, run.status === 'queued' ? undefined : next)
  return { begun: { drive, ended: drive.start() }, ...(isOrphan && { takenUp: 'recovered' }) }
}

function logOf({ store, clock, limits }: NodeParts, { run, epoch, next }: StoredRun): RunLog {
  return new RunLog(run, store.writer(run.id, { epoch, next }), clock, limits)
}

/** Its answers were taken by a node that does not drive it. */
async function wasAnswered(store: Store, { run, next }: StoredRun): Promise<boolean> {
  if (run.status !== 'running' || run.released !== true) return false
  const slice = await store.read(run.id, next - 2, 1)
  const last = slice === undefined ? undefined : events(slice).at(-1)
  return last?.type === 'run.released' && last.data.reason === ANSWERED
}

async function discardAttempt({ store, limits }: NodeParts, log: RunLog): Promise<void> {
  const { id, attempt } = log.run
  const from = await firstOfAttempt(store, limits, id, attempt)
  log.append({
    type: 'attempt.discarded',
    data: { attempt, from, scope: 'all', ledger: 'dropped', reason: 'interrupted' },
  })
}

async function firstOfAttempt(store: Store, limits: Limits, id: string, attempt: number): Promise<number> {
  for (let after = -1; ;) {
    const slice = await store.read(id, after, limits.readBytesMax)
    if (slice === undefined) return 0
    for (const event of events(slice)) {
      if (event.type === 'run.started' && event.data.attempt === attempt) return event.index + 1
      after = event.index
    }
  }
}

/** A drive for a run; `past` is where its earlier log ends, absent for a run that never ran. */
async function prepare(parts: NodeParts, log: RunLog, component: Component, past: number | undefined): Promise<Drive> {
  const { store, limits } = parts
  const { id } = log.run
  const first = await store.read(id, -1, 1)
  const created = events(first!)[0]!.data as EventData['run.created']
  const history = past === undefined ? undefined : await loadHistory(store, id, log.next, limits.readBytesMax)
  return new Drive({
    ...parts,
    component,
    input: created.input,
    log,
    ledger: history?.ledger ?? new Map(),
    spending: history?.spending ?? new Spending(),
    replay: history && new Replay(history.output),
  })
}

/** Why a claimed run must end as failed instead of being driven. */
function refusal(
  { run }: StoredRun,
  component: Component | undefined,
  isAnswered: boolean,
  limits: Limits,
): Failure | undefined {
  const { status, waiting, released, interruptions = 0 } = run
  if (component === undefined)
    return { code: 'unsupported', message: `component ${run.component} is not served any more` }
  if (isAnswered || status === 'queued') return undefined
  if (status === 'paused') {
    const prompts = (waiting ?? []).map(({ prompt }) => prompt).join('; ')
    return new RunFailure('deadline_exceeded', `nobody answered in time: ${prompts}`).failure
  }
  const attemptsMax = component.limits?.attemptsMax ?? limits.attemptsMax
  if ((component.recovery ?? 'fail') === 'fail') {
    return interrupted(released ? 'the server that drove the run was shut down' : 'the worker that drove the run died')
  }
  // A run that was handed over in good order may be started any number of times.
  if (!released && interruptions + 1 >= attemptsMax) {
    return interrupted(`the run was interrupted in each of its ${interruptions + 1} attempts`)
  }
  return undefined
}

function interrupted(message: string): Failure {
  return new RunFailure('interrupted', message).failure
}

/** Ends a run that nobody drives. */
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
