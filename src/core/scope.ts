/** Whose work it is and where its entries in the log have their keys; what steps, tools, questions and calls share. */
import { type AskOptions, type HistoryMessage, type HistoryOptions, type RunContext, WorkFailure } from './agent.ts'
import type { Encoded } from './emission.ts'
import { messageOf, readable } from './errors.ts'
import type { Actor, Event, EventData, Failure, Question, Usage } from './event.ts'
import { type Ledger, type LedgerEntry, ledgerKey } from './history.ts'
import { serialize, type SerializeBounds } from './serialize.ts'

/** What contexts need of the drive they belong to. */
export interface ContextHost {
  readonly ledger: Ledger
  readonly bounds: SerializeBounds
  isReplaying(actor: Actor | undefined): boolean
  /** An actor has ended: what the log holds of it and was not emitted again is withdrawn. */
  endReplay(actor: Actor): void
  /** The same for the rest of a step's output. */
  endReplayOfStep(actor: Actor | undefined): void
  /** Index of the next event. */
  next(): number
  /** Withdraws what an actor, and with `below` those that it called, emitted from an index on. */
  discard(actor: Actor | undefined, from: number, scope: 'own' | 'below'): Promise<void>
  /** Takes what an actor emitted; a promise when it should be held back. */
  put(encoded: Encoded): Promise<void> | undefined
  /** Appends an event of the ledger and resolves when it is durable. */
  record(event: Event): Promise<void>
  /** Appends what no drive will emit again at the same place; a promise when whoever gives it should be held back. */
  show(event: Event): Promise<void> | undefined
  /** What an actor took that ends now, with those that it called. */
  spent(actor: Actor, declared: Usage | undefined): Usage | undefined
  /** Pauses the run until the question is answered. */
  wait(question: Question): Promise<unknown>
  /** Ends the run as failed; never returns to the agent. */
  fail(failure: Failure): Promise<never>
  /** What was said before in the run's session. */
  history(options: HistoryOptions): Promise<readonly HistoryMessage[]>
  now(): number
}

/** Whose context it is, and where its work has its keys. */
export interface Scope {
  readonly host: ContextHost
  readonly facts: Pick<RunContext, 'run' | 'session' | 'owner' | 'metadata' | 'attempt'>
  readonly signal: AbortSignal
  readonly uncertain: 'pause' | 'fail'
  readonly actor: Actor | undefined
  /** Before every key: '' for the run's own component. */
  readonly prefix: string
  /** Calls that are around this one. */
  readonly depth: number
}

export async function ask(scope: Scope, key: string, { timeoutMs, kind, ...options }: AskOptions): Promise<unknown> {
  const { host, actor } = scope
  const known = host.ledger.get(ledgerKey('ask', key))
  if (known !== undefined) return recorded(known)
  return host.wait({
    ...options,
    id: key,
    kind: kind ?? 'input',
    ...(actor !== undefined && { actor }),
    ...(timeoutMs !== undefined && { deadline: new Date(host.now() + timeoutMs).toISOString() }),
  })
}

/** Appends an event of the ledger, under the scope's actor. */
export function record<Type extends Event['type']>(
  { host, actor }: Scope,
  type: Type,
  data: EventData[Type],
): Promise<void> {
  return host.record({ type, data, ...(actor !== undefined && { actor }) } as unknown as Event)
}

/** What the log says of work that ended. */
export function recorded(entry: LedgerEntry): unknown {
  if (entry.state === 'failed') throw new WorkFailure(entry.failure)
  return entry.state === 'done' ? entry.result : undefined
}

/** A result as the log has it, so that it is the same value in every attempt. */
export function asRecorded<Result>({ host }: Scope, result: Result): Result {
  return result === undefined ? result : (JSON.parse(serialize(result, 'data.output', host.bounds)) as Result)
}

export function failureOf(caught: unknown): Failure {
  const thrown = readable(caught)
  if (thrown instanceof WorkFailure) return thrown.failure
  return {
    code: 'agent_failed',
    message: messageOf(thrown),
    ...(thrown instanceof Error && { details: { type: thrown.name } }),
  }
}
