/** Checks and serializes what an agent emits: the only way into a log (EVT-1). */
import type { Emission, EventBatch, UnserializablePolicy } from '../ports/component.ts'
import { type Actor, type Event, eventTable, type EventType, isEventType } from '../model/event.ts'
import { wrongField } from '../model/wrong-field.ts'
import { encodeBody, encodeTextBody, type RecordBody } from '../model/record.ts'
import { RunFailure } from './run-failure.ts'
import { OversizeError, type SerializeBounds, UnserializableError } from '../model/serialize.ts'

/** An encoded emission, ready for the log. */
export class EncodedEvent {
  readonly type: EventType
  readonly body: RecordBody
  readonly actor: Actor | undefined

  constructor(type: EventType, body: RecordBody, actor: Actor | undefined) {
    this.type = type
    this.body = body
    this.actor = actor
  }
}

/** Emissions that are appended together. */
export interface EncodedBatch {
  readonly events: readonly EncodedEvent[]
  /** If part of the batch is already logged, only the remaining events are appended. */
  readonly isSnapshot: boolean
}

/** The events of `emitTogether`; undefined for any other emission. */
export function batchOf(emission: Emission): EventBatch | undefined {
  return Array.isArray(emission) ? (emission as EventBatch) : undefined
}

/** Encodes the events of `emitTogether`: all of them before any is appended, so that none is appended alone. */
export function encodeBatch(batch: EventBatch, bounds: SerializeBounds, actor?: Actor): EncodedBatch {
  const encoded = batch.map((event) => encodeEmission(event, bounds, actor))
  const ending = encoded.find(({ type }) => eventTable[type].effect === 'terminal')
  if (ending === undefined) return { events: encoded, isSnapshot: batch.isSnapshot === true }
  throw new RunFailure('protocol_violation', `the agent yielded ${ending.type} together with other events`)
}

/** With `replace`, a placeholder replaces an event that the log cannot hold. */
export function encodeOrReplace(
  emission: Emission,
  bounds: SerializeBounds,
  policy: UnserializablePolicy,
  actor?: Actor,
): EncodedEvent {
  try {
    return encodeEmission(emission, bounds, actor)
  } catch (cause) {
    const placeholder = placeholderFor(emission, policy, cause)
    if (placeholder === undefined) throw cause
    return encodeEmission(placeholder, bounds, actor)
  }
}

/** The placeholder; undefined if the run must fail: by policy, for a terminal event, or because the event is wrong in another way. */
export function placeholderFor(emission: Emission, policy: UnserializablePolicy, cause: unknown): Event | undefined {
  if (policy !== 'replace' || typeof emission === 'string' || !(cause instanceof RunFailure)) return undefined
  const { code, details } = cause.failure
  if (code !== 'unserializable' && code !== 'output_too_large') return undefined
  if (Array.isArray(emission) || eventTable[emission.type].effect === 'terminal') return undefined
  return { type: 'custom.emitted', data: { name: PLACEHOLDER, value: { code, ...(details as object) } } }
}

/** Name of the custom event that replaces an event that the log cannot hold. */
const PLACEHOLDER = 'holdfast.unserializable'

/** Encodes what an agent yielded. Throws a `RunFailure` that names the problem. */
export function encodeEmission(emission: Emission, bounds: SerializeBounds, actor?: Actor): EncodedEvent {
  if (typeof emission === 'string') {
    if (actor !== undefined) return encodeEvent({ type: 'text.delta', data: { text: emission }, actor }, bounds)
    return new EncodedEvent(
      'text.delta',
      guard('text.delta', () => encodeTextBody(emission, bounds)),
      undefined,
    )
  }
  checkEvent(emission)
  const encoded = encodeEvent(actor === undefined ? emission : { ...emission, actor }, bounds)
  // After encoding, which reports the path of unreadable values.
  assertFields(emission)
  return encoded
}

/** Encodes an event of Holdfast's own, or one that has passed the checks. */
export function encodeEvent(event: Event, bounds: SerializeBounds): EncodedEvent {
  const body = guard(event.type, () => encodeBody(event, bounds))
  return new EncodedEvent(event.type, body, event.actor)
}

function checkEvent(emission: Event): void {
  const type: unknown = (emission as Event | null | undefined)?.type
  if (!isEventType(type)) {
    throw new RunFailure('protocol_violation', `the agent yielded ${describe(emission)}, which is not an event`)
  }
  if (!eventTable[type].agent) {
    throw new RunFailure('protocol_violation', `the agent yielded ${type}, which only Holdfast may write`)
  }
  if ((emission.data as { key?: unknown } | null)?.key !== undefined && /^(step|tool)\./.test(type)) {
    throw new RunFailure('protocol_violation', `the agent yielded ${type} with a key, which only Holdfast may set`)
  }
  if (emission.actor !== undefined) {
    throw new RunFailure('protocol_violation', `the agent yielded ${type} with an actor, which only Holdfast may set`)
  }
}

/** Rejects an agent's event that lacks a field that views rely on. */
export function assertFields({ type, data }: Event): void {
  const problem = wrongField(type, data)
  if (problem !== undefined) throw new RunFailure('protocol_violation', `the agent yielded ${problem}`)
}

function guard(type: EventType, encode: () => RecordBody): RecordBody {
  try {
    return encode()
  } catch (cause) {
    if (!(cause instanceof UnserializableError)) throw cause
    throw unserializableFailure(type, cause)
  }
}

/** The failure of a run that emitted something the log cannot hold. */
export function unserializableFailure(event: EventType, cause: UnserializableError): RunFailure {
  const { path, problem, holder } = cause
  const details = { event, path, problem, ...(holder !== undefined && { class: holder }) }
  // The cause goes only to the server's log: what a getter threw may contain anything.
  if (!(cause instanceof OversizeError))
    return new RunFailure('unserializable', `event ${event}: ${cause.message}`, details, { cause })
  const message = `event ${event}: ${cause.message}. ${remedyFor(event)}`
  return new RunFailure('output_too_large', message, { ...details, bytesMax: cause.maxBytes })
}

function remedyFor(event: EventType): string {
  if (/^(text|reasoning)\./.test(event)) return 'Emit it in several pieces'
  return event === 'artifact.added'
    ? 'Emit it as text or bytes in chunks with append, or emit a URL'
    : 'Store it elsewhere and emit a reference'
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  const type = (value as { type?: unknown }).type
  return typeof type === 'string'
    ? `an object of type ${JSON.stringify(type.slice(0, 80))}`
    : 'an object without a known type'
}
