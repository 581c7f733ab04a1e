/**
 * Serializes a value to JSON text, once, or reports exactly why not (EVT-1). Plain JSON data takes the engine's own path. Common other
 * values have one documented encoding (docs/events.md).
 */

export class UnserializableError extends Error {
  override readonly name = 'UnserializableError'
  /** Path of the value, such as `data.rows[3].when`. */
  readonly path: string
  /** The problem. */
  readonly problem: string
  /** Class of the object that holds the value; undefined for plain objects and arrays. */
  readonly holder: string | undefined

  constructor(path: string, problem: string, cause?: unknown, holder?: string) {
    super(`${path} ${problem}`, cause === undefined ? undefined : { cause })
    this.path = path
    this.problem = problem
    this.holder = holder
  }
}

/** The value is too large. */
export class OversizeError extends UnserializableError {
  readonly maxBytes: number

  constructor(path: string, problem: string, maxBytes: number) {
    super(path, problem)
    this.maxBytes = maxBytes
  }
}

export interface SerializeBounds {
  readonly maxDepth: number
  readonly maxBytes: number
}

export function serialize(value: unknown, root: string, bounds: SerializeBounds): string {
  // Most values are texts, which need no traversal.
  const isShort = typeof value === 'string' && value.length <= bounds.maxBytes
  const text = JSON.stringify(isShort ? value : (new Walk(root, bounds).encode(value) ?? null))
  // A UTF-16 unit is at most three bytes, so most texts need no count.
  if (text.length * 3 > bounds.maxBytes) {
    const bytes = new TextEncoder().encode(text).length
    if (bytes > bounds.maxBytes)
      throw new OversizeError(root, `is ${bytes} bytes long; the limit is ${bounds.maxBytes}`, bounds.maxBytes)
  }
  return text
}

/** One traversal of a value. The path is kept as keys and formatted only for an error. */
class Walk {
  readonly #root: string
  readonly #bounds: SerializeBounds
  readonly #keys: (string | number)[] = []
  readonly #ancestors: object[] = []
  /** Count of visited values. Each takes at least one byte, so the traversal of a far too large value stops early. */
  #values = 0
  #chars = 0

  constructor(root: string, bounds: SerializeBounds) {
    this.#root = root
    this.#bounds = bounds
  }

  /** The value itself if it is plain JSON, otherwise an encoded copy; undefined if JSON omits it. */
  encode(value: unknown): unknown {
    this.#count(value)
    switch (typeof value) {
      case 'string':
      case 'boolean':
      case 'undefined':
        return value
      case 'number':
        return Number.isFinite(value) ? value : String(value)
      case 'bigint':
        return value.toString()
      case 'function':
        return this.#refuse('is a function')
      case 'symbol':
        return this.#refuse('is a symbol')
      default:
        return value === null ? null : this.#object(value as object)
    }
  }

  #object(value: object): unknown {
    if (this.#ancestors.includes(value)) this.#refuse('refers to an object that contains it (a cycle)')
    if (this.#ancestors.length >= this.#bounds.maxDepth)
      this.#refuse(`is nested more than ${this.#bounds.maxDepth} levels deep`)
    this.#ancestors.push(value)
    try {
      return this.#contents(value)
    } catch (cause) {
      // A proxy can throw at any access.
      if (cause instanceof UnserializableError) throw cause
      return this.#refuse('cannot be read', cause)
    } finally {
      this.#ancestors.pop()
    }
  }

  #contents(value: object): unknown {
    if (Array.isArray(value)) return this.#array(value)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) {
      const known = this.#knownClass(value)
      if (known !== NOT_KNOWN) return known
    }
    if ('toJSON' in value && typeof value.toJSON === 'function') return this.#toJson(value as { toJSON(): unknown })
    return this.#properties(value)
  }

  #array(value: readonly unknown[]): unknown {
    let copy: unknown[] | undefined
    for (let index = 0; index < value.length; index++) {
      const item = value[index]
      const encoded = this.#at(index, item)
      if (encoded !== item) copy ??= value.slice(0, index)
      copy?.push(encoded)
    }
    return copy ?? value
  }

  #properties(value: object): unknown {
    let copy: Record<string, unknown> | undefined
    const keys = Object.keys(value)
    for (let position = 0; position < keys.length; position++) {
      const key = keys[position]!
      const item = this.#read(value, key)
      const encoded = this.#at(key, item)
      // Keeps a getter's value: reading it again could return another one, or throw.
      if (copy === undefined && (encoded !== item || hasGetter(value, key))) {
        copy = {}
        for (const earlier of keys.slice(0, position)) set(copy, earlier, (value as Record<string, unknown>)[earlier])
      }
      if (copy !== undefined && encoded !== undefined) set(copy, key, encoded)
    }
    return copy ?? value
  }

  #knownClass(value: object): unknown {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
    if (value instanceof URL) return value.href
    if (value instanceof Error) return this.#error(value)
    if (value instanceof Map) return this.#map(value)
    if (value instanceof Set) return this.#array([...value])
    if (ArrayBuffer.isView(value)) return base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    if (value instanceof ArrayBuffer) return base64(new Uint8Array(value))
    if (BOXES.some((box) => value instanceof box)) return this.encode(value.valueOf())
    const tag = Object.prototype.toString.call(value).slice(8, -1)
    if (OPAQUE.has(tag) || tag.endsWith(' Iterator')) this.#refuse(`is ${/^[AEIOU]/.test(tag) ? 'an' : 'a'} ${tag}`)
    return NOT_KNOWN
  }

  #toJson(value: { toJSON(): unknown }): unknown {
    let replaced: unknown
    try {
      replaced = value.toJSON()
    } catch (cause) {
      this.#refuse('has a toJSON method that throws', cause)
    }
    return replaced === value ? this.#properties(value) : this.encode(replaced)
  }

  #error(error: Error): unknown {
    const encoded: Record<string, unknown> = { name: error.name, message: error.message }
    for (const key of ['code', 'cause']) {
      const item = this.#read(error, key)
      if (item !== undefined) encoded[key] = this.#at(key, item)
    }
    return encoded
  }

  /** An object if every key is a string, otherwise a list of pairs. */
  #map(map: ReadonlyMap<unknown, unknown>): unknown {
    const entries = [...map]
    if (!entries.every(([key]) => typeof key === 'string')) return this.#array(entries)
    return this.#properties(Object.fromEntries(entries) as object)
  }

  #at(key: string | number, item: unknown): unknown {
    this.#keys.push(key)
    const encoded = this.encode(item)
    this.#keys.pop()
    return encoded
  }

  #read(value: object, key: string): unknown {
    try {
      return (value as Record<string, unknown>)[key]
    } catch (cause) {
      this.#keys.push(key)
      this.#refuse('has a getter that throws', cause)
    }
  }

  #count(value: unknown): void {
    const { maxBytes } = this.#bounds
    this.#values++
    if (typeof value === 'string') this.#chars += value.length
    if (this.#values <= maxBytes && this.#chars <= FAR * maxBytes) return
    throw new OversizeError(this.#root, `is larger than the limit of ${maxBytes} bytes`, maxBytes)
  }

  #refuse(problem: string, cause?: unknown): never {
    const path = this.#keys.reduce<string>((text, key) => {
      if (typeof key === 'number') return `${text}[${key}]`
      return /^[A-Za-z_$][\w$]*$/.test(key) ? `${text}.${key}` : `${text}[${JSON.stringify(key)}]`
    }, this.#root)
    throw new UnserializableError(path, problem, cause, classOf(this.#ancestors.at(-1)))
  }
}

/** Class name of a value's holder, for the log. */
function classOf(holder: object | undefined): string | undefined {
  try {
    const name: unknown = holder?.constructor.name
    return typeof name === 'string' && name !== '' && name !== 'Object' && name !== 'Array' ? name : undefined
  } catch {
    return undefined // a proxy, a getter, or an object without a prototype
  }
}

/** Texts of up to this many times the limit are still encoded, so that the error reports the exact size. */
const FAR = 4

const NOT_KNOWN = Symbol('not a known class')

const BOXES = [String, Number, Boolean, BigInt]

/** Classes, by name, that JSON would silently write as `{}`. */
const OPAQUE: ReadonlySet<string> = new Set([
  'Promise',
  'WeakMap',
  'WeakSet',
  'WeakRef',
  'RegExp',
  'Generator',
  'AsyncGenerator',
  'ReadableStream',
  'WritableStream',
  'TransformStream',
  'Request',
  'Response',
  'Blob',
  'File',
  'FormData',
  'Headers',
  'SharedArrayBuffer',
  'Symbol',
])

/** Defines a property. A plain assignment would treat a key such as `__proto__` specially. */
function set(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

function hasGetter(value: object, key: string): boolean {
  return Object.getOwnPropertyDescriptor(value, key)?.get !== undefined
}

function base64(bytes: Uint8Array): string {
  let binary = ''
  for (let start = 0; start < bytes.length; start += 0x8000)
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000))
  return btoa(binary)
}
