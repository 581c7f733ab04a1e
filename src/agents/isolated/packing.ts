/**
 * Serialization across the thread boundary. Values from the agent are serialized by the rules of the log in its own thread, so
 * the host gets what the log would store. Values from the host are plain JSON and are cloned.
 */
import type { Emission, UnserializablePolicy } from '../../core/ports/component.ts'
import { encodeEmission, placeholderFor, unserializableFailure } from '../../core/execution/emission.ts'
import { OversizeError, serialize, type SerializeBounds, UnserializableError } from '../../core/model/serialize.ts'

/** A value from the agent: JSON text, undefined for `undefined`, or why it cannot be serialized. */
export type PackedValue = string | undefined | Refusal

interface Refusal {
  readonly path: string
  readonly problem: string
  /** The limit, if the value is larger. */
  readonly maxBytes?: number
}

/** Looser than any server limit, which the host applies. Refuses only values that would exhaust the host's memory. */
const BOUNDS: SerializeBounds = { maxDepth: 2000, maxBytes: 64 * 1024 * 1024 }

export function pack(value: unknown, path: string): PackedValue {
  if (value === undefined) return undefined
  try {
    return serialize(value, path, BOUNDS)
  } catch (cause) {
    if (!(cause instanceof UnserializableError)) throw cause
    const { path: at, problem } = cause
    return { path: at, problem, ...(cause instanceof OversizeError && { maxBytes: cause.maxBytes }) }
  }
}

function errorOf({ path, problem, maxBytes }: Refusal): UnserializableError {
  return maxBytes === undefined ? new UnserializableError(path, problem) : new OversizeError(path, problem, maxBytes)
}

/** The value, or a value that fails to serialize in the same way, so that the execution reports it. */
export function unpack(packed: PackedValue): unknown {
  if (packed === undefined) return undefined
  if (typeof packed === 'string') return JSON.parse(packed)
  return new Proxy(
    {},
    {
      getPrototypeOf() {
        throw errorOf(packed)
      },
    },
  )
}

/** An emission. Plain text, the most common case, crosses unchanged. */
export type PackedEmission = { readonly text: string } | { readonly event: PackedValue }

export function packEmission(emission: Emission, policy: UnserializablePolicy = 'fail'): PackedEmission {
  if (typeof emission === 'string' && emission.length * 3 <= BOUNDS.maxBytes) return { text: emission }
  const event = pack(emission, 'data')
  if (typeof event !== 'object') return { event }
  try {
    encodeEmission(emission, BOUNDS) // throws with the event and the path
    return { event }
  } catch (cause) {
    const placeholder = placeholderFor(emission, policy, cause)
    if (placeholder === undefined) throw cause
    return { event: pack(placeholder, 'data') }
  }
}

export function unpackEmission(packed: PackedEmission): Emission {
  return 'text' in packed ? packed.text : (unpack(packed.event) as Emission)
}

/** The run's final output. */
export function packOutput(output: unknown): PackedValue {
  const packed = pack(output, 'data.output')
  if (typeof packed !== 'object') return packed
  throw unserializableFailure('run.completed', errorOf(packed))
}
