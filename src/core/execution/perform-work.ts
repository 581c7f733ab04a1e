/** Performs recorded work for a context: returns its result from the log, or executes it as new work. */
import type { Enclosure } from '../recovery/enclosure.ts'
import { RunFailure } from './run-failure.ts'
import type { WorkMarks } from '../model/event.ts'
import { identityText } from '../recovery/ledger.ts'
import type { ActorScope } from './actor-scope.ts'
import { serialize, UnserializableError } from '../model/serialize.ts'
import { type WorkIdentity, type WorkKind, type WorkRecord, workRef } from '../recovery/recorded-work.ts'

/** A request for work, matched with the log. */
export interface Work {
  readonly identity: WorkIdentity
  readonly record: WorkRecord | undefined
  readonly key: string
  readonly ref: string
  /** Identity that its first event stores besides the key. */
  readonly marks: WorkMarks
  /** The enclosing work. */
  readonly enclosure: Enclosure | undefined
}

export interface Request {
  readonly kind: WorkKind
  /** Name in keys. */
  readonly name: string
  /** What distinguishes it from other work of the same name: an input, a key, a question. */
  readonly input?: unknown
  /** Name in messages and in divergence reports. Default: `name`. */
  readonly label?: string
}

/** Takes the record of the work from the log, or a key for new work. Synchronous, so that equal requests keep their order. */
export function request(scope: ActorScope, { kind, name, input, label = name }: Request): Work {
  const { host, prefix, counted, actor } = scope
  host.flushBuffered(actor)
  const enclosure = enclosureOf(scope)
  const within = enclosure?.ref ?? scope.within
  const digest = input === undefined ? undefined : digestOf(scope, input)
  const identity: WorkIdentity = { kind, name: label, prefix, within, digest }
  const record = host.ledger.take(identity, counted(kind, name))
  if (record === undefined) host.fanOut.checkTotal(kind)
  const key = record?.key ?? host.ledger.newKey(kind, prefix + name)
  const marks = { within, ...(digest !== undefined && { digest }) }
  return { identity, record, key, ref: workRef(kind, key), marks, enclosure }
}

/** The work that encloses the running code, if it belongs to this run. */
export function enclosureOf({ host }: ActorScope): Enclosure | undefined {
  const enclosure = host.enclosures.getStore()
  return enclosure?.ledger === host.ledger ? enclosure : undefined
}

function digestOf({ host }: ActorScope, input: unknown): string | undefined {
  try {
    return host.digest(serialize(input, 'data.input', host.bounds))
  } catch (cause) {
    if (cause instanceof UnserializableError) return undefined // the event of the work reports this and fails the run
    throw cause
  }
}

export interface PerformOptions {
  /** Rejects equal work that runs concurrently: after a crash each could get the other's result. */
  readonly isExclusive: boolean
  /** A repeated request without a record does not wait for the replay: asking a person again has no effect. */
  readonly isRepeatable?: boolean
  /** May return a record that this work replaces. */
  readonly instead?: () => WorkRecord | undefined
}

/**
 * Executes work whose result is not logged. `body` is called when the work may start; work that it requests is recorded as nested in
 * it. `body` must call `ending` before it records its result: `ending` waits until all nested recorded work was requested again.
 */
export async function perform<Result>(
  scope: ActorScope,
  work: Work,
  { isExclusive, isRepeatable = false, instead }: PerformOptions,
  body: (ending: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const { host, signal } = scope
  const { enclosure, record, ref } = work
  if (enclosure?.isRevisited === true && record === undefined) throw notRecorded(work)
  const leave = enter(scope, work, isExclusive)
  const done = work.identity.kind === 'sleep' ? undefined : host.rest.work(ref)
  const redone = record === undefined ? undefined : host.replayBarrier.redo(ref)
  const own: Enclosure = { ledger: host.ledger, ref, outer: enclosure, isRevisited: false }
  const requested = { kind: work.identity.kind, name: work.identity.name }
  try {
    if (record === undefined && host.replayBarrier.isBlocking) {
      const isRepeat = host.ledger.isRepeat(work.identity)
      if (!isRepeat || !isRepeatable)
        await host.replayBarrier.admit({ requested, enclosure, signal, instead, isRepeat })
    }
    return await host.enclosures.run(own, () =>
      body(async () => {
        redone?.()
        if (record !== undefined) await host.replayBarrier.end(requested, ref, enclosure, signal)
      }),
    )
  } catch (thrown) {
    host.ledger.passBelow(ref)
    throw thrown
  } finally {
    redone?.()
    done?.()
    leave()
  }
}

/** Re-executes work whose result is logged, so that it emits its output again. */
export async function revisit(
  { host }: ActorScope,
  { ref, enclosure }: Work,
  again: (() => Promise<unknown>) | undefined,
): Promise<void> {
  if (again === undefined) return
  const own: Enclosure = { ledger: host.ledger, ref, outer: enclosure, isRevisited: true }
  // The result is logged; only the output matters here.
  await host.enclosures.run(own, again).catch(() => {})
}

/** Within completed work, work that is not logged is rejected. */
function notRecorded({ identity: { kind, name } }: Work): RunFailure {
  return new RunFailure('diverged', `${kind} ${name} is not in the log, although the work around it has ended`)
}

/** Registers the work as in progress until the returned function is called. */
function enter(scope: ActorScope, { identity }: Work, isExclusive: boolean): () => void {
  const { host } = scope
  const text = identityText(identity)
  if (isExclusive && host.underWay.has(text)) throw ambiguous(identity)
  const done = host.fanOut.enter(identity.kind)
  let left: (() => void) | undefined
  try {
    left = scope.branch?.enter()
  } catch (thrown) {
    done()
    throw thrown
  }
  if (isExclusive) host.underWay.add(text)
  return () => {
    if (isExclusive) host.underWay.delete(text)
    done()
    left?.()
  }
}

function ambiguous({ kind, name, digest }: WorkIdentity): RunFailure {
  const what = kind === 'actor' ? `calls of ${name}` : `steps named ${name}`
  const same = kind === 'actor' ? ' with the same input' : digest === undefined ? '' : ' with the same key'
  const remedy =
    kind === 'actor'
      ? 'pass a different name to each, or use a context.within(…) for each'
      : 'pass a different key to each (`step(name, work, { key })`), or use a context.within(…) for each'
  return new RunFailure(
    'protocol_violation',
    `two ${what}${same} run concurrently, so their results would be ambiguous after a crash: ${remedy}`,
  )
}
