/** What a form asks for, as a JSON schema says it, and the value that comes of what was filled in. */

export interface Field {
  readonly name: string
  readonly title: string
  readonly about?: string
  readonly kind: 'text' | 'number' | 'integer' | 'switch' | 'choice' | 'json'
  readonly required: boolean
  /** Of a choice. */
  readonly choices: readonly unknown[]
  /** What is filled in at first. */
  readonly initial: string
  readonly placeholder: string
}

export interface SchemaForm {
  /** A value by itself, or an object with a field for each property. */
  readonly of: 'value' | 'object'
  readonly fields: readonly Field[]
}

/** What is filled in, by the name of the field, as text; a choice is the place of what was chosen. */
export type Filled = ReadonlyMap<string, string>

export type Reading = { readonly value: unknown } | { readonly wrong: string }

type Schema = Readonly<Record<string, unknown>>

/** More of them are better written as JSON. */
const FIELDS_MAX = 50
const VALUE = 'input'

/** Undefined for a schema that has no form of its own: it is filled in as JSON. */
export function formOf(schema: unknown): SchemaForm | undefined {
  if (!isObject(schema)) return undefined
  if (!isObject(schema['properties'])) {
    const field = fieldOf(VALUE, { title: 'Input', ...schema }, true)
    return field.kind === 'json' ? undefined : { of: 'value', fields: [field] }
  }
  const properties = Object.entries(schema['properties'])
  if (properties.length > FIELDS_MAX) return undefined
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return {
    of: 'object',
    fields: properties.map(([name, property]) =>
      fieldOf(name, isObject(property) ? property : {}, required.includes(name)),
    ),
  }
}

/** All that is asked for is a text. */
export function isPlainText({ of, fields }: SchemaForm): boolean {
  return of === 'value' && fields[0]?.kind === 'text'
}

/** The value that was filled in, or what is wrong with it. */
export function readForm({ of, fields }: SchemaForm, filled: Filled): Reading {
  const entries: [string, unknown][] = []
  for (const field of fields) {
    const reading = readField(field, filled.get(field.name) ?? field.initial, of)
    if ('wrong' in reading) return reading
    if (reading.value !== undefined) entries.push([field.name, reading.value])
  }
  return { value: of === 'value' ? entries[0]?.[1] : Object.fromEntries(entries) }
}

export function readJson(text: string, title: string): Reading {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (cause) {
    return { wrong: `${title} is not JSON: ${(cause as Error).message}` }
  }
}

function fieldOf(name: string, schema: Schema, required: boolean): Field {
  const choices = Array.isArray(schema['enum']) ? (schema['enum'] as unknown[]) : []
  const kind = choices.length > 0 ? 'choice' : kindOf(schema['type'])
  const about = schema['description']
  const examples = Array.isArray(schema['examples']) ? (schema['examples'] as unknown[]) : []
  return {
    name,
    title: typeof schema['title'] === 'string' ? schema['title'] : name,
    ...(typeof about === 'string' && { about }),
    kind,
    required,
    choices,
    initial: initialOf(kind, schema['default'], choices, required),
    placeholder: examples.length === 0 ? '' : written(kind, examples[0]),
  }
}

function kindOf(type: unknown): Field['kind'] {
  if (type === 'string') return 'text'
  if (type === 'boolean') return 'switch'
  return type === 'number' || type === 'integer' ? type : 'json'
}

function initialOf(kind: Field['kind'], given: unknown, choices: readonly unknown[], required: boolean): string {
  if (kind === 'choice') {
    const place = choices.indexOf(given)
    return place < 0 ? '' : String(place)
  }
  if (given !== undefined) return written(kind, given)
  return kind === 'switch' && required ? 'false' : ''
}

function written(kind: Field['kind'], value: unknown): string {
  return kind === 'text' && typeof value === 'string' ? value : JSON.stringify(value)
}

/** A value that is undefined was left out. */
function readField({ title, kind, required, choices }: Field, text: string, of: SchemaForm['of']): Reading {
  // A text by itself may be empty; one among others that is empty was not filled in.
  if (text === '' && !(kind === 'text' && of === 'value'))
    return required ? { wrong: `${title} is missing` } : { value: undefined }
  switch (kind) {
    case 'text':
      return { value: text }
    case 'switch':
      return { value: text === 'true' }
    case 'choice':
      return { value: choices[Number(text)] }
    case 'json':
      return readJson(text, title)
    case 'number':
    case 'integer':
      return readNumber(title, kind, Number(text))
  }
}

function readNumber(title: string, kind: 'number' | 'integer', value: number): Reading {
  if (!Number.isFinite(value)) return { wrong: `${title} is not a number` }
  return kind === 'integer' && !Number.isInteger(value) ? { wrong: `${title} is not a whole number` } : { value }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
