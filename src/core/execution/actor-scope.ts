/** Per-actor scope: identity, ledger key prefix, and helpers that steps, tools, questions and calls share. */
import type { AskOptions, HistoryMessage, HistoryOptions, RunContext } from '../ports/component.ts'
import type { Clock } from '../ports/clock.ts'
import type { EncodedEvent } from './emission.ts'
import type { AsyncLocal, Enclosure } from '../recovery/enclosure.ts'
import type { Actor, Event, EventData, Failure, Question, Usage, WorkMarks } from '../model/event.ts'
import type { FanOut } from './fan-out.ts'
import type { Ledger } from '../recovery/ledger.ts'
import type { ReplayBarrier } from '../recovery/replay-barrier.ts'
import type { Branch } from './branches.ts'
import type { RedactOptions } from '../redaction/redaction.ts'
import { perform, request } from './perform-work.ts'
import type { SleepDetector } from './sleep-detector.ts'
import { serialize, type SerializeBounds } from '../model/serialize.ts'
import { recorded } from '../recovery/recorded-failure.ts'
import { prefixOf, type WorkKind, type WorkRecord } from '../recovery/recorded-work.ts'

/** What contexts need of the drive they belong to. */
export interface ExecutionHost {
  readonly ledger: Ledger
  /** Holds new work until the log's was asked for. */
  readonly past: ReplayBarrier
  /** Bounds what the run has under way and in all. */
  readonly fanOut: FanOut
  /** Identities of exclusive work that is being done. */
  readonly underWay: Set<string>
  readonly enclosures: AsyncLocal<Enclosure>
  readonly bounds: SerializeBounds
  /** Keyed digest of a text: the same in every attempt, on every node. */
  digest(text: string): string
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
  put(encoded: EncodedEvent): Promise<void> | undefined
  /** Adds what redaction holds back of an actor's text, before something else of the actor. */
  settle(actor: Actor | undefined): void
  /** The same where an actor, or a step that emits, has come to its end. */
  endOutput(actor: Actor | undefined): void
  /** Redacts by the rules of a component that is called, too. */
  redactBy(options: RedactOptions): void
  /** Appends an event of the ledger and resolves, when it is durable, with the event as the log has it. */
  record<Recorded extends Event>(event: Recorded): Promise<Recorded>
  /** Appends what no drive will emit again at the same place; a promise when whoever gives it should be held back. */
  show(event: Event): Promise<void> | undefined
  /** What an actor took that ends now, with those that it called. */
  spent(actor: Actor, declared: Usage | undefined): Usage | undefined
  /** An agent that is not kept while the run is paused executes, until the returned function is called. */
  holdReleasable(): () => void
  /** Pauses the run until the question is answered. */
  wait(question: Question, work?: WorkMarks): Promise<unknown>
  /** Ends the run as failed; never returns to the agent. */
  fail(failure: Failure): Promise<never>
  /** What was said before in the run's session. */
  history(options: HistoryOptions): Promise<readonly HistoryMessage[]>
  readonly clock: Clock
  readonly replayWaitMs: number
  /** Knows when the run does nothing but sleep. */
  readonly rest: SleepDetector
  /** The agent sleeps, and its silence is no fault of its own, until the returned function is called. */
  slept(): () => void
}

/** Whose context it is, and where its work has its keys. */
export interface ActorScope {
  readonly host: ExecutionHost
  readonly facts: Pick<RunContext, 'run' | 'session' | 'owner' | 'metadata' | 'attempt'>
  readonly signal: AbortSignal
  readonly uncertain: 'pause' | 'fail'
  readonly actor: Actor | undefined
  /** Before every key: '' for the run's own component. */
  readonly prefix: string
  /** Reference of the call that the component runs in; '' for the run's own component. */
  readonly within: string
  /** The name space of `within` that it is in. */
  readonly branch: Branch | undefined
  /** The key that work has by its name and number. */
  readonly counted: (kind: WorkKind, name: string) => string
  /** Calls that are around this one. */
  readonly depth: number
}

/** Asks somebody, or gives the answer that the log has to the same question. */
export async function ask(
  scope: ActorScope,
  { key, timeoutMs, kind = 'input', ...options }: AskOptions,
): Promise<unknown> {
  const { host, actor } = scope
  const { prompt, schema = null } = options
  // With a key of its own a question is the same whatever its words.
  const input = key === undefined ? { prompt, kind, schema } : { key, kind, schema }
  const work = request(scope, { kind: 'ask', name: 'question', input })
  if (work.record !== undefined) return recorded(work.record.outcome)
  const isReplaced = (known: WorkRecord): boolean =>
    known.kind === 'ask' && known.within === work.identity.within && prefixOf(known.key) === scope.prefix
  const question: Question = {
    ...options,
    id: work.key,
    kind,
    ...(actor !== undefined && { actor }),
    ...(timeoutMs !== undefined && { deadline: new Date(host.clock.now() + timeoutMs).toISOString() }),
  }
  const instead = (): WorkRecord | undefined => host.ledger.firstMissing(isReplaced)()
  return perform(scope, work, { isExclusive: false, isRepeatable: true, instead }, () =>
    host.wait(question, work.marks),
  )
}

/** Asks on the runner's behalf, under an id that says what about. */
export async function askOwner({ host, actor }: ActorScope, question: Question): Promise<unknown> {
  const known = host.ledger.get('ask', question.id)
  if (known !== undefined) return recorded(known.outcome)
  return host.wait({ ...question, ...(actor !== undefined && { actor }) })
}

/** Appends an event of the ledger, under the scope's actor; resolves with its data as the log has it, redacted. */
export async function record<Type extends Event['type']>(
  { host, actor }: ActorScope,
  type: Type,
  data: EventData[Type],
): Promise<EventData[Type]> {
  const kept = await host.record({ type, data, ...(actor !== undefined && { actor }) } as unknown as Event)
  return kept.data as EventData[Type]
}

/** A result as the log has it, so that it is the same value in every attempt. */
export function asRecorded<Result>({ host }: ActorScope, result: Result): Result {
  return result === undefined ? result : (JSON.parse(serialize(result, 'data.output', host.bounds)) as Result)
}
