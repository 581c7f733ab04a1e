/** Parses the schema: for the gRPC packages, and to convert between their objects and JSON. */
import { common, type MessageTexts, type ServiceText } from './schema.ts'

export interface Field {
  readonly name: string
  readonly type: string
  readonly id: number
  readonly many: 'list' | 'map' | undefined
}

export function fieldsOf(text: string): Field[] {
  return text
    .split(';')
    .filter((each) => each.trim() !== '')
    .map((each) => {
      const [, written = '', name = '', id = ''] = /^\s*(\S+)\s+(\S+)\s*=\s*(\d+)\s*$/.exec(each) ?? []
      const [, inMap] = /^map<(.+)>$/.exec(written) ?? []
      const isList = written.endsWith('[]')
      const type = inMap ?? (isList ? written.slice(0, -2) : written)
      return { name, type, id: Number(id), many: inMap === undefined ? (isList ? 'list' : undefined) : 'map' }
    })
}

/** The schema as a protobuf.js JSON descriptor. */
export function toDescriptor(service: ServiceText): object {
  const enums = Object.entries(service.enums).map(([name, values]) => [
    name,
    { values: Object.fromEntries(values.map((value, number) => [value, number])) },
  ])
  const methods = Object.entries(service.methods).map(([name, [requestType, written]]) => {
    const responseType = written.replace(/^stream /, '')
    return [name, { requestType, responseType, ...(responseType !== written && { responseStream: true }) }]
  })
  const own = {
    ...typesOf(service.messages),
    ...Object.fromEntries(enums),
    A2AService: { methods: Object.fromEntries(methods) },
  }
  const tree: Tree = { nested: {} }
  for (const [name, messages] of Object.entries(common)) plant(tree, name, typesOf(messages))
  plant(tree, service.package, own)
  return tree
}

interface Tree {
  nested: Record<string, Tree>
}

function plant(tree: Tree, path: string, content: object): void {
  let at = tree
  for (const name of path.split('.')) at = at.nested[name] ??= { nested: {} }
  Object.assign(at.nested, content)
}

function typesOf(messages: MessageTexts): Record<string, object> {
  return Object.fromEntries(
    Object.entries(messages).map(([name, text]) => [
      name,
      {
        fields: Object.fromEntries(
          fieldsOf(text).map(({ name: field, type, id, many }) => [
            field,
            { type, id, ...(many === 'list' && { rule: 'repeated' }), ...(many === 'map' && { keyType: 'string' }) },
          ]),
        ),
      },
    ]),
  )
}

type Raw = Readonly<Record<string, unknown>>

/** Converts objects of one service according to their field types. */
export class Converter {
  readonly #fields: ReadonlyMap<string, readonly Field[]>

  constructor(service: ServiceText) {
    this.#fields = new Map(Object.entries(service.messages).map(([name, text]) => [name, fieldsOf(text)]))
  }

  /** From JSON to the encoder's objects. */
  encode(type: string, value: unknown): unknown {
    return this.#convert(type, value, encodeSpecial)
  }

  /** From decoded objects to JSON. */
  decode(type: string, value: unknown): unknown {
    return this.#convert(type, value, decodeSpecial)
  }

  #convert(type: string, value: unknown, special: Special): unknown {
    const convert = special[type]
    if (convert !== undefined) return convert(value)
    const fields = this.#fields.get(type)
    if (fields === undefined || typeof value !== 'object' || value === null) return value
    const converted: Record<string, unknown> = {}
    for (const field of fields) {
      const given = (value as Raw)[field.name]
      if (given === undefined || (given === null && field.type !== 'google.protobuf.Value')) continue
      converted[field.name] = this.#field(field, given, special)
    }
    return converted
  }

  #field({ type, many }: Field, value: unknown, special: Special): unknown {
    if (many === 'list') return (value as readonly unknown[]).map((each) => this.#convert(type, each, special))
    if (many === undefined) return this.#convert(type, value, special)
    return Object.fromEntries(
      Object.entries(value as Raw).map(([key, each]) => [key, this.#convert(type, each, special)]),
    )
  }
}

type Special = Readonly<Record<string, (value: unknown) => unknown>>

const encodeSpecial: Special = {
  'google.protobuf.Struct': (value) => toStruct(value as Raw),
  'google.protobuf.Value': toValue,
  'google.protobuf.Timestamp': (value) => {
    const milliseconds = Date.parse(String(value))
    const seconds = Math.floor(milliseconds / 1000)
    return { seconds, nanos: (milliseconds - seconds * 1000) * 1_000_000 }
  },
}

const decodeSpecial: Special = {
  'google.protobuf.Struct': (value) => fromStruct(value as Raw),
  'google.protobuf.Value': fromValue,
  'google.protobuf.Timestamp': (value) => {
    const { seconds = 0, nanos = 0 } = value as { readonly seconds?: number; readonly nanos?: number }
    const time = new Date(seconds * 1000 + nanos / 1_000_000)
    // An invalid timestamp is left for validation to refuse.
    return Number.isNaN(time.getTime()) ? `${seconds}.${nanos}` : time.toISOString()
  },
}

function toStruct(value: Raw): object {
  return { fields: Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toValue(each)])) }
}

function toValue(value: unknown): object {
  switch (typeof value) {
    case 'string':
      return { stringValue: value }
    case 'number':
      return { numberValue: value }
    case 'boolean':
      return { boolValue: value }
    case 'object':
      if (value === null) return { nullValue: 0 }
      return Array.isArray(value)
        ? { listValue: { values: value.map(toValue) } }
        : { structValue: toStruct(value as Raw) }
    default:
      return { nullValue: 0 }
  }
}

function fromStruct({ fields = {} }: Raw): object {
  return Object.fromEntries(Object.entries(fields as Raw).map(([key, each]) => [key, fromValue(each)]))
}

function fromValue(value: unknown): unknown {
  const { numberValue, stringValue, boolValue, structValue, listValue } = (value ?? {}) as Raw
  if (structValue !== undefined) return fromStruct(structValue as Raw)
  if (listValue !== undefined) return (((listValue as Raw)['values'] ?? []) as readonly unknown[]).map(fromValue)
  return numberValue ?? stringValue ?? boolValue ?? null
}
