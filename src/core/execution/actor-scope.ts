/** Per-actor scope: identity, ledger key prefix, and helpers that steps, tools, questions and calls share. */
import type { AskOptions, RunContext, UncertainPolicy, UnserializablePolicy } from '../ports/component.ts'
import type { Actor, Event, EventData, Question } from '../model/event.ts'
import type { Branch } from './branches.ts'
import type { ExecutionHost } from './execution-host.ts'
import { perform, request } from './perform-work.ts'
import { serialize } from '../model/serialize.ts'
import { replayOutcome } from '../recovery/recorded-failure.ts'
import { prefixOf, type WorkKind, type WorkRecord } from '../recovery/recorded-work.ts'

/** A context's actor, and the namespace of its work keys. */
export interface ActorScope {
  readonly host: ExecutionHost
  readonly facts: Pick<RunContext, 'runId' | 'sessionId' | 'owner' | 'metadata' | 'attempt'>
  readonly signal: AbortSignal
  readonly uncertain: UncertainPolicy
  readonly onUnserializable: UnserializablePolicy
  readonly actor: Actor | undefined
  /** Prefix of every key; '' for the run's own component. */
  readonly prefix: string
  /** Reference of the call that the component runs in; '' for the run's own component. */
  readonly within: string
  /** The branch of `within` that the context belongs to. */
  readonly branch: Branch | undefined
  /** Returns the key of work, by name and number. */
  readonly counted: (kind: WorkKind, name: string) => string
  /** Number of enclosing calls. */
  readonly depth: number
}

/** Asks a question, or returns the recorded answer to the same question. */
export async function ask(
  scope: ActorScope,
  { key, timeoutMs, kind = 'input', ...options }: AskOptions,
): Promise<unknown> {
  const { host, actor } = scope
  const { prompt, schema = null } = options
  // A question with a key is the same question even if its wording changes.
  const input = key === undefined ? { prompt, kind, schema } : { key, kind, schema }
  const work = request(scope, { kind: 'ask', name: 'question', input })
  if (work.record !== undefined) return replayOutcome(work.record.outcome)
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

/** Asks the run's owner on Holdfast's behalf, under an id derived from the subject. */
export async function askOwner({ host, actor }: ActorScope, question: Question): Promise<unknown> {
  const known = host.ledger.get('ask', question.id)
  if (known !== undefined) return replayOutcome(known.outcome)
  return host.wait({ ...question, ...(actor !== undefined && { actor }) })
}

/** Appends an event of recorded work under the scope's actor. Resolves with its data as stored, redacted. */
export async function record<Type extends Event['type']>(
  { host, actor }: ActorScope,
  type: Type,
  data: EventData[Type],
): Promise<EventData[Type]> {
  const logged = await host.record({ type, data, ...(actor !== undefined && { actor }) } as unknown as Event)
  return logged.data as EventData[Type]
}

/** A result as stored, so that it is the same value in every attempt. */
export function asRecorded<Result>({ host }: ActorScope, result: Result): Result {
  return result === undefined ? result : (JSON.parse(serialize(result, 'data.output', host.bounds)) as Result)
}
