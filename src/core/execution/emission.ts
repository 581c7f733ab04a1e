/** Checks and serializes what an agent emits: the only way into a log (EVT-1). */
import type { Emission } from '../ports/component.ts'
import { type Actor, type Event, eventTable, type EventType, isEventType } from '../model/event.ts'
import { wrongField } from '../model/wrong-field.ts'
import { encodeBody, encodeTextBody, type RecordBody } from '../model/record.ts'
import { RunFailure } from './run-failure.ts'
import { type SerializeBounds, UnserializableError } from '../model/serialize.ts'

/** An emission that is ready for the log. */
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

/** Encodes what an agent yielded; throws a `RunFailure` that names what is wrong with it. */
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
  // After encoding, which reports unreadable values by their path.
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
    throw new RunFailure('unserializable', `event ${type}: ${cause.message}`, {
      event: type,
      path: cause.path,
      problem: cause.problem,
    })
  }
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  const type = (value as { type?: unknown }).type
  return typeof type === 'string'
    ? `an object of type ${JSON.stringify(type.slice(0, 80))}`
    : 'an object without a known type'
}
