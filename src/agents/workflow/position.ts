/** Where in a workflow something is done: its names in the log, what is around it, and what came before. */
import type { RunContext, StepDetails } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import type { FlowFacts } from './definition.ts'

export interface WorkflowPosition {
  /** Gives the work that is done here its keys. */
  readonly context: RunContext
  /** Before the id of every step that is done here. */
  readonly prefix: string
  /** Id of the step around it. */
  readonly parent: string | undefined
  /** Aborted with the run, and with what is around it. */
  readonly signal: AbortSignal
  readonly outputs: Readonly<Record<string, unknown>>
  /** Emits an event of the workflow's own. */
  readonly tell: (event: Event) => Promise<void>
}

/** Where a workflow begins. */
export function positionOf(context: RunContext, tell: WorkflowPosition['tell']): WorkflowPosition {
  // The id of a component that was called is that of the run, and below it the prefix of its keys.
  const [, ...keys] = context.run.split('/')
  const prefix = keys.length === 0 ? '' : `${keys.join('/')}/`
  return { context, prefix, parent: undefined, signal: context.signal, outputs: {}, tell }
}

/** The step that is first done under a name; names of one level differ, and have no separators. */
export function idIn(position: WorkflowPosition, name: string): string {
  return position.prefix + name
}

/** The inside of a step. */
export function inside(
  position: WorkflowPosition,
  name: string,
  parent: string | undefined = idIn(position, name),
): WorkflowPosition {
  return { ...position, context: position.context.within(name), prefix: `${idIn(position, name)}~/`, parent }
}

export function factsOf({ context, signal, outputs }: WorkflowPosition): FlowFacts {
  const { run, session, owner, metadata } = context
  return { run, session, owner, metadata, signal, outputs }
}

export interface RecordedBlock<Walked, Result> {
  readonly name: string
  readonly about: StepDetails
  /** Only work that is itself recorded. */
  readonly walk: () => Promise<Walked>
  /** Done once: what is made of it in the end. */
  readonly conclude?: (walked: Walked) => Promise<Result> | Result
}

/**
 * A recorded step around recorded work. When the log has its result, the way through it is gone again all the same: nothing is
 * done twice, and what was emitted inside is known to be told already.
 */
export async function recordBlock<Walked, Result = Walked>(
  { context }: WorkflowPosition,
  { name, about, walk, conclude = (walked) => walked as unknown as Result }: RecordedBlock<Walked, Result>,
): Promise<Result> {
  const work = async (): Promise<Result> => conclude(await walk())
  return context.step(name, work, { ...about, revisit: walk })
}

/** A promise, or the abort, whichever comes first. */
export async function orAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason as Error)
  work.catch(() => {}) // awaited below, unless the abort comes first
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, work])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
