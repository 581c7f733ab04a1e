/** Counts what an encoded message holds before it is decoded: two bytes can become an object. */
import { common, type MessageTexts, type ServiceText } from './schema.ts'
import { fieldsOf } from './shape.ts'

export interface MessageBounds {
  /** Fields in all, of the message and of those within it. */
  readonly fieldsMax: number
  readonly depthMax: number
}

/** The messages within a message, by the number of their field. A map has entries, whose second field is the value. */
type Parts = ReadonlyMap<number, string>

const ENTRY = 'map of '
const ENTRY_VALUE = 2

export class FieldCounter {
  readonly #parts: ReadonlyMap<string, Parts>
  readonly #bounds: MessageBounds

  constructor(service: ServiceText, bounds: MessageBounds) {
    const all = [
      ...partsOf(service.messages, ''),
      ...Object.entries(common).flatMap(([name, texts]) => partsOf(texts, `${name}.`)),
    ]
    this.#parts = new Map(all)
    this.#bounds = bounds
  }

  /** Undefined when the bytes are no message of any type. */
  isWithin(type: string, bytes: Uint8Array): boolean | undefined {
    const walk = new Walk(bytes, this.#parts, this.#bounds)
    try {
      walk.message(type, bytes.length, 0)
      return true
    } catch (cause) {
      if (cause === CROWDED) return false
      if (cause === MALFORMED) return undefined
      throw cause
    }
  }
}

const CROWDED = new Error('too many fields')
const MALFORMED = new Error('malformed')

/** Wire types of protocol buffers. */
const VARINT = 0
const FIXED64 = 1
const LENGTH = 2
const FIXED32 = 5

class Walk {
  readonly #bytes: Uint8Array
  readonly #parts: ReadonlyMap<string, Parts>
  readonly #bounds: MessageBounds
  #at = 0
  #fields = 0

  constructor(bytes: Uint8Array, parts: ReadonlyMap<string, Parts>, bounds: MessageBounds) {
    this.#bytes = bytes
    this.#parts = parts
    this.#bounds = bounds
  }

  message(type: string, end: number, depth: number): void {
    if (depth > this.#bounds.depthMax) throw CROWDED
    const parts = this.#parts.get(type)
    while (this.#at < end) {
      if (++this.#fields > this.#bounds.fieldsMax) throw CROWDED
      const tag = this.#varint(end)
      const wire = tag & 7
      if (wire === VARINT) this.#varint(end)
      else if (wire === FIXED64) this.#skip(8, end)
      else if (wire === FIXED32) this.#skip(4, end)
      else if (wire === LENGTH) this.#part(parts?.get(tag >>> 3), end, depth)
      else throw MALFORMED
    }
  }

  #part(type: string | undefined, end: number, depth: number): void {
    const length = this.#varint(end)
    if (length > end - this.#at) throw MALFORMED
    if (type === undefined) this.#skip(length, end)
    else this.message(type, this.#at + length, depth + 1)
  }

  #skip(bytes: number, end: number): void {
    if (bytes > end - this.#at) throw MALFORMED
    this.#at += bytes
  }

  /** The lower 32 bits, which is all that tags and lengths have. */
  #varint(end: number): number {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.#at >= end) throw MALFORMED
      const byte = this.#bytes[this.#at++]!
      if (shift < 32) value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
    throw MALFORMED
  }
}

function partsOf(texts: MessageTexts, prefix: string): [string, Parts][] {
  return Object.entries(texts).flatMap(([name, text]): [string, Parts][] => {
    const fields = fieldsOf(text).map((field) => ({ ...field, type: nameIn(texts, prefix, field.type) }))
    const maps = fields.filter(({ many }) => many === 'map')
    return [
      [prefix + name, new Map(fields.map(({ id, type, many }) => [id, many === 'map' ? ENTRY + type : type]))],
      ...maps.map(({ type }): [string, Parts] => [ENTRY + type, new Map([[ENTRY_VALUE, type]])]),
    ]
  })
}

/** Messages of one package name each other without it. Scalars are of no package, and have no parts. */
function nameIn(texts: MessageTexts, prefix: string, type: string): string {
  return Object.hasOwn(texts, type) ? prefix + type : type
}
