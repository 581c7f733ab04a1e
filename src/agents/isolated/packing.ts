/**
 * How values cross a thread boundary. What an agent hands over is serialized by the rules of the log, in its own thread, so that the
 * other side gets what the log would keep. What the host hands back is plain JSON data and is cloned as it is.
 */
import type { Emission } from '../../core/ports/component.ts'
import { encodeEmission } from '../../core/execution/emission.ts'
import { RunFailure } from '../../core/execution/run-failure.ts'
import type { EventType } from '../../core/model/event.ts'
import { serialize, type SerializeBounds, UnserializableError } from '../../core/model/serialize.ts'

/** A value that an agent handed over: JSON text, nothing for `undefined`, or why it cannot be serialized. */
export type PackedValue = string | undefined | { readonly path: string; readonly problem: string }

/** Wider than any sensible limit of a server, which the host applies: only what would exhaust its memory is refused here. */
const BOUNDS: SerializeBounds = { depthMax: 2000, bytesMax: 64 * 1024 * 1024 }

export function pack(value: unknown, path: string): PackedValue {
  if (value === undefined) return undefined
  try {
    return serialize(value, path, BOUNDS)
  } catch (cause) {
    if (cause instanceof UnserializableError) return { path: cause.path, problem: cause.problem }
    throw cause
  }
}

/** The value; or, where there is none, a value that fails to serialize in the same way, so that the runner reports it. */
export function unpack(packed: PackedValue): unknown {
  if (packed === undefined) return undefined
  if (typeof packed === 'string') return JSON.parse(packed)
  const { path, problem } = packed
  return new Proxy(
    {},
    {
      getPrototypeOf() {
        throw new UnserializableError(path, problem)
      },
    },
  )
}

/** What an agent yielded. Text, which most of it is, crosses as it is. */
export type PackedEmission = { readonly text: string } | { readonly event: PackedValue }

export function packEmission(emission: Emission): PackedEmission {
  if (typeof emission === 'string' && emission.length * 3 <= BOUNDS.bytesMax) return { text: emission }
  const event = pack(emission, 'data')
  if (typeof event === 'object') encodeEmission(emission, BOUNDS) // throws what names the event and the path
  return { event }
}

export function unpackEmission(packed: PackedEmission): Emission {
  return 'text' in packed ? packed.text : (unpack(packed.event) as Emission)
}

/** The output that a run ends with. */
export function packOutput(output: unknown): PackedValue {
  const packed = pack(output, 'data.output')
  if (typeof packed !== 'object') return packed
  const event: EventType = 'run.completed'
  throw new RunFailure('unserializable', `event ${event}: ${packed.path} ${packed.problem}`, { event, ...packed })
}
