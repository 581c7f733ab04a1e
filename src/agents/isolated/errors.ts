/** Errors that cross a thread boundary keep name, message, code, data and cause, and their class if Holdfast knows it. */
import { RejectedError, WorkError } from '../../core/ports/component.ts'
import { RunFailure } from '../../core/execution/run-failure.ts'
import { type ErrorCode, HoldfastError, messageOf, readable } from '../../core/model/errors.ts'
import type { Failure } from '../../core/model/event.ts'
import { pack, type PackedValue, unpack } from './packing.ts'

export interface PackedError {
  /** `value`: not an error; only its text crosses. */
  readonly kind: 'failure' | 'run-failure' | 'rejected' | 'holdfast' | 'abort' | 'error' | 'value'
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly code?: string | number
  readonly data?: PackedValue
  /** Data of a `WorkError` or `RunFailure`, which is serializable. */
  readonly failure?: PackedValue
  readonly cause?: PackedError
  /** Number of the error in its own thread, which gets the same object back. */
  readonly ref?: number
}

/** Maximum length of a chain of causes. */
const DEPTH_MAX = 5
const STACK_CHARS_MAX = 8000
/** Errors that a thread remembers to return the same object. */
const KEPT_MAX = 1000

/** Packs and unpacks errors on one side of a thread boundary. */
export class ErrorTransport {
  /** Errors that were thrown on this side, by number. */
  readonly #originals = new Map<number, unknown>()
  readonly #numbers = new WeakMap<object, number>()
  #count = 0

  /** Packs an error of this side. `keep`: it should come back as the same object. */
  pack(caught: unknown, keep = false, depth = 0): PackedError {
    const thrown = readable(caught)
    if (!(thrown instanceof Error)) return { kind: 'value', name: typeof thrown, message: messageOf(thrown) }
    const code = property(thrown, 'code')
    const data = pack(property(thrown, 'data'), 'data')
    const ref = keep ? this.#keep(thrown) : this.#numbers.get(thrown)
    const cause = property(thrown, 'cause')
    return {
      ...kindOf(thrown),
      name: thrown.name,
      message: messageOf(thrown),
      ...(typeof thrown.stack === 'string' && { stack: thrown.stack.slice(0, STACK_CHARS_MAX) }),
      ...((typeof code === 'string' || typeof code === 'number') && { code }),
      ...(typeof data === 'string' && { data }),
      ...(cause instanceof Error && depth < DEPTH_MAX && { cause: this.pack(cause, false, depth + 1) }),
      ...(ref !== undefined && { ref }),
    }
  }

  /** Unpacks an error of the other side, or returns the original if it came from here. */
  unpack(packed: PackedError): unknown {
    if (packed.ref !== undefined && this.#originals.has(packed.ref)) return this.#originals.get(packed.ref)
    if (packed.kind === 'value') return packed.message
    const error = rebuild(packed, packed.cause && this.unpack(packed.cause))
    if (packed.stack !== undefined) error.stack = packed.stack
    if (packed.ref !== undefined) this.#numbers.set(error, packed.ref)
    return error
  }

  #keep(error: Error): number {
    const known = this.#numbers.get(error)
    if (known !== undefined) return known
    const ref = ++this.#count
    this.#numbers.set(error, ref)
    this.#originals.set(ref, error)
    this.#originals.delete(ref - KEPT_MAX)
    return ref
  }
}

function kindOf(error: Error): Pick<PackedError, 'kind' | 'failure'> {
  if (error instanceof WorkError) return { kind: 'failure', failure: pack(error.failure, 'failure') }
  if (error instanceof RunFailure) return { kind: 'run-failure', failure: pack(error.failure, 'failure') }
  if (error instanceof RejectedError) return { kind: 'rejected' }
  if (error instanceof HoldfastError) return { kind: 'holdfast' }
  return { kind: error instanceof DOMException ? 'abort' : 'error' }
}

function rebuild({ kind, name, message, code, data, failure }: PackedError, cause: unknown): Error {
  const options = cause === undefined ? undefined : { cause }
  switch (kind) {
    case 'failure':
      return new WorkError(unpack(failure) as Failure, options)
    case 'run-failure': {
      const { code: errorCode, message: text, details } = unpack(failure) as Failure
      return new RunFailure(errorCode as ErrorCode, text, details)
    }
    case 'rejected':
      return new RejectedError(message)
    case 'holdfast':
      return new HoldfastError(code as ErrorCode, message, options)
    case 'abort':
      return new DOMException(message, name)
    default: {
      const error = new (BUILT_IN.get(name) ?? Error)(message, options)
      if (error.name !== name) define(error, 'name', name)
      if (code !== undefined) define(error, 'code', code)
      if (data !== undefined) define(error, 'data', unpack(data))
      return error
    }
  }
}

const BUILT_IN: ReadonlyMap<string, ErrorConstructor> = new Map([
  ['TypeError', TypeError],
  ['RangeError', RangeError],
  ['SyntaxError', SyntaxError],
  ['ReferenceError', ReferenceError],
])

function define(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true, enumerable: key !== 'name' })
}

function property(error: Error, key: string): unknown {
  try {
    return (error as unknown as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}
