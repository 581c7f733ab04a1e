/** Position in a workflow: ledger keys, enclosing step, and previous outputs. */
import type { RunContext, WorkDetails } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import type { WorkflowContext } from './definition.ts'

export interface WorkflowPosition {
  /** Provides the ledger keys of work at this position. */
  readonly context: RunContext
  /** Prefix of the ids of steps at this position. */
  readonly prefix: string
  /** Id of the enclosing step. */
  readonly parent: string | undefined
  /** Aborted with the run and with the enclosing step. */
  readonly signal: AbortSignal
  readonly outputs: Readonly<Record<string, unknown>>
  /** Emits an event of the workflow itself. */
  readonly emitEvent: (event: Event) => Promise<void>
}

/** The position at the start of a workflow. */
export function positionOf(context: RunContext, emitEvent: WorkflowPosition['emitEvent']): WorkflowPosition {
  // The id of a called component is the run's id followed by its key prefix.
  const [, ...keys] = context.runId.split('/')
  const prefix = keys.length === 0 ? '' : `${keys.join('/')}/`
  return { context, prefix, parent: undefined, signal: context.signal, outputs: {}, emitEvent }
}

/** Id of a step's first execution under a name; names on one level are unique and contain no separators. */
export function idIn(position: WorkflowPosition, name: string): string {
  return position.prefix + name
}

/** The position inside a step. */
export function positionInside(
  position: WorkflowPosition,
  name: string,
  parent: string | undefined = idIn(position, name),
): WorkflowPosition {
  return { ...position, context: position.context.within(name), prefix: `${idIn(position, name)}~/`, parent }
}

export function factsOf({ context, signal, outputs }: WorkflowPosition): WorkflowContext {
  const { runId, sessionId, owner, metadata } = context
  return { runId, sessionId, owner, metadata, signal, outputs }
}

export interface RecordedBlock<Walked, Result> {
  readonly name: string
  readonly about: WorkDetails
  /** Must contain only recorded work. */
  readonly walk: () => Promise<Walked>
  /** Computes the final result; runs once. */
  readonly conclude?: (walked: Walked) => Promise<Result> | Result
}

/**
 * Records a step that encloses recorded work. If the log has its result, the inner work is replayed anyway: nothing runs twice,
 * and the inner output is recognized as already emitted.
 */
export async function recordBlock<Walked, Result = Walked>(
  { context }: WorkflowPosition,
  { name, about, walk, conclude = (walked) => walked as unknown as Result }: RecordedBlock<Walked, Result>,
): Promise<Result> {
  const work = async (): Promise<Result> => conclude(await walk())
  return context.step(name, work, { ...about, revisit: walk })
}

/** Settles with the work, or rejects on abort. */
export async function orAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason as Error)
  work.catch(() => {}) // awaited below, unless aborted first
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, work])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
