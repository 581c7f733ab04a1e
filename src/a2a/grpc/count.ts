/**
 * Counts the fields of an encoded message before decoding: two bytes can become an object. The decoder looks at field numbers,
 * not wire types, so a field with a wrong wire type would be counted differently than it is decoded.
 */
import { common, type MessageTexts, type ServiceText } from './schema.ts'
import { fieldsOf } from './shape.ts'

export interface MessageBounds {
  /** Total fields, including those of nested messages. */
  readonly maxFields: number
  /** Map entries of one message: objects with more keys are slow to build. */
  readonly maxEntries: number
  readonly maxDepth: number
}

/** Fields by number. A map has entries with the key as field 1 and the value as field 2. */
type Parts = ReadonlyMap<number, Part>

interface Part {
  readonly type: string
  readonly wire: number
  /** Whether it is a message: other length-delimited fields contain no fields. */
  readonly isMessage: boolean
  readonly isEntry: boolean
}

const ENTRY = 'map of '
const ENTRY_KEY = 1
const ENTRY_VALUE = 2

export class FieldCounter {
  readonly #parts: ReadonlyMap<string, Parts>
  readonly #bounds: MessageBounds

  constructor(service: ServiceText, bounds: MessageBounds) {
    const all = [
      ...partsOf(service.messages, '', service.enums),
      ...Object.entries(common).flatMap(([name, texts]) => partsOf(texts, `${name}.`, {})),
    ]
    this.#parts = new Map(all)
    this.#bounds = bounds
  }

  /** Undefined if the bytes are not a valid message of this type. */
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

/** Protocol buffers wire types. */
const VARINT = 0
const FIXED64 = 1
const LENGTH = 2
const FIXED32 = 5

const scalarWires = new Map([
  ['string', LENGTH],
  ['bytes', LENGTH],
  ['int32', VARINT],
  ['int64', VARINT],
  ['bool', VARINT],
  ['double', FIXED64],
])

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
    if (depth > this.#bounds.maxDepth) throw CROWDED
    const parts = this.#parts.get(type)
    let entries = 0
    while (this.#at < end) {
      if (++this.#fields > this.#bounds.maxFields) throw CROWDED
      const tag = this.#varint(end)
      const wire = tag & 7
      const part = parts?.get(tag >>> 3)
      if (part !== undefined && part.wire !== wire) throw MALFORMED
      if (part?.isEntry === true && ++entries > this.#bounds.maxEntries) throw CROWDED
      if (wire === VARINT) this.#varint(end)
      else if (wire === FIXED64) this.#skip(8, end)
      else if (wire === FIXED32) this.#skip(4, end)
      else if (wire === LENGTH) this.#part(part, end, depth)
      else throw MALFORMED
    }
  }

  #part(part: Part | undefined, end: number, depth: number): void {
    const length = this.#varint(end)
    if (length > end - this.#at) throw MALFORMED
    if (part?.isMessage !== true) this.#skip(length, end)
    else this.message(part.type, this.#at + length, depth + 1)
  }

  #skip(bytes: number, end: number): void {
    if (bytes > end - this.#at) throw MALFORMED
    this.#at += bytes
  }

  /** The lower 32 bits, which suffice for tags and lengths. */
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

function partsOf(texts: MessageTexts, prefix: string, enums: ServiceText['enums']): [string, Parts][] {
  return Object.entries(texts).flatMap(([name, text]): [string, Parts][] => {
    const fields = fieldsOf(text).map((field) => ({ ...field, part: partOf(nameIn(texts, prefix, field.type), enums) }))
    const maps = fields.filter(({ many }) => many === 'map')
    return [
      [
        prefix + name,
        new Map(fields.map(({ id, part, many }) => [id, many === 'map' ? partOf(ENTRY + part.type, {}) : part])),
      ],
      ...maps.map(({ part }): [string, Parts] => [
        ENTRY + part.type,
        new Map([
          [ENTRY_KEY, partOf('string', {})],
          [ENTRY_VALUE, part],
        ]),
      ]),
    ]
  })
}

function partOf(type: string, enums: ServiceText['enums']): Part {
  const wire = Object.hasOwn(enums, type) ? VARINT : scalarWires.get(type)
  return { type, wire: wire ?? LENGTH, isMessage: wire === undefined, isEntry: type.startsWith(ENTRY) }
}

/** Messages of one package refer to each other without its name. Scalars have no package and no fields. */
function nameIn(texts: MessageTexts, prefix: string, type: string): string {
  return Object.hasOwn(texts, type) ? prefix + type : type
}
