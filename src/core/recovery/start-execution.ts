/** Starts an execution of a run from its recording. */
import { readCheckedLog } from '../delivery/read-log.ts'
import { type ExecutionEnd, RunExecution } from '../execution/run-execution.ts'
import type { RunLog } from '../execution/run-log.ts'
import { TokenUsage } from '../execution/token-usage.ts'
import type { EventData } from '../model/event.ts'
import { events } from '../model/slice.ts'
import type { Component } from '../ports/component.ts'
import type { Logger } from '../ports/logger.ts'
import type { Digest, NodeDeps } from '../node-deps.ts'
import { redactingLogger } from '../redaction/redacting-logger.ts'
import { redactorOf } from '../redaction/redactor.ts'
import type { RunSlot } from '../scheduling/sleeping-runs.ts'
import { Ledger } from './ledger.ts'
import type { Recording } from './recording.ts'
import { Replay } from './replay.ts'

export interface LiveExecution {
  readonly execution: RunExecution
  readonly ended: Promise<ExecutionEnd>
}

export interface ExecutionStart {
  readonly deps: NodeDeps
  readonly log: RunLog
  readonly component: Component
  readonly origin: RunOrigin
  readonly slot: RunSlot
}

/** What a run was created with. */
export interface RunOrigin {
  readonly input: unknown
  readonly digest: Digest
}

/** Read before the start is written: if the store failed in between, the run would look interrupted. */
export async function readOrigin({ store, digests }: NodeDeps, id: string): Promise<RunOrigin> {
  const first = await readCheckedLog(store, id, -1, 1)
  const { input } = events(first!)[0]!.data as EventData['run.created']
  return { input, digest: await digests.of(id) }
}

/** `recording` is absent for a run that never ran. */
export function startExecution(
  { deps, log, component, origin, slot }: ExecutionStart,
  recording: Recording | undefined,
): LiveExecution {
  const execution = new RunExecution({
    ...deps,
    ...origin,
    logger: loggerFor(deps, component),
    component,
    log,
    ledger: recording?.ledger ?? new Ledger(),
    tokenUsage: recording?.tokenUsage ?? new TokenUsage(),
    replay: recording && new Replay(recording.output),
    slot,
  })
  return { execution, ended: execution.start() }
}

/** The logger already applies the server's redaction rules. */
function loggerFor({ logger }: NodeDeps, { redact }: Component): Logger {
  const own = redactorOf(undefined, redact)
  return own === undefined ? logger : redactingLogger(logger, own)
}
