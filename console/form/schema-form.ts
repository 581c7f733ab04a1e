/** Derives a form from a JSON schema, and a value from the filled form. */

export interface Field {
  readonly name: string
  readonly title: string
  readonly about?: string
  readonly kind: 'text' | 'number' | 'integer' | 'switch' | 'choice' | 'json'
  readonly required: boolean
  /** An empty field means null. */
  readonly nullable: boolean
  /** Options of a choice. */
  readonly choices: readonly unknown[]
  /** Initial content. */
  readonly initial: string
  readonly placeholder: string
}

export interface SchemaForm {
  /** A single value, or an object with a field per property. */
  readonly of: 'value' | 'object'
  readonly fields: readonly Field[]
}

/** Field contents by name, as text; for a choice, the index of the selected option. */
export type FormValues = ReadonlyMap<string, string>

export type ReadValue = { readonly value: unknown } | { readonly wrong: string }

type Schema = Readonly<Record<string, unknown>>

/** Schemas with more fields are edited as JSON. */
const FIELDS_MAX = 50
const VALUE = 'input'

/** Undefined for a schema without a form, which is edited as JSON. Of several alternatives, uses the first that has one. */
export function formOf(schema: unknown): SchemaForm | undefined {
  if (!isObject(schema)) return undefined
  const ways = waysOf(schema)
  if (ways !== undefined) return ways.map((way) => formOfOne({ ...named(schema), ...way })).find((form) => form)
  return formOfOne(schema)
}

/** Form of a component's input. Default: text. Undefined if only JSON will do. */
export function inputFormOf({ inputSchema }: { readonly inputSchema?: Schema }): SchemaForm | undefined {
  return formOf(inputSchema ?? { type: 'string', examples: ['What shall it do?'] })
}

function formOfOne(schema: Schema): SchemaForm | undefined {
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

/** The form is a single text field. */
export function isPlainText({ of, fields }: SchemaForm): boolean {
  return of === 'value' && fields[0]?.kind === 'text'
}

/** The form's value, or what is wrong with it. */
export function readForm({ of, fields }: SchemaForm, filled: FormValues): ReadValue {
  const entries: [string, unknown][] = []
  for (const field of fields) {
    const reading = readField(field, filled.get(field.name) ?? field.initial, of)
    if ('wrong' in reading) return reading
    if (reading.value !== undefined) entries.push([field.name, reading.value])
  }
  return { value: of === 'value' ? entries[0]?.[1] : Object.fromEntries(entries) }
}

export function readJson(text: string, title: string): ReadValue {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (cause) {
    return { wrong: `${title} is not JSON: ${(cause as Error).message}` }
  }
}

/** The alternatives of a union. */
function waysOf(schema: Schema): readonly Schema[] | undefined {
  const ways = schema['anyOf'] ?? schema['oneOf']
  return Array.isArray(ways) ? ways.filter(isObject) : undefined
}

/** Annotations beside the alternatives apply to all of them. */
function named({ title, description, default: given, examples }: Schema): Schema {
  const known = { title, description, default: given, examples }
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined))
}

/** A value that may be null is asked for as its other type. */
function withoutNull(schema: Schema): { readonly plain: Schema; readonly nullable: boolean } {
  const { type } = schema
  if (Array.isArray(type)) {
    const [only, ...others] = type.filter((each) => each !== 'null')
    return others.length > 0 ? { plain: schema, nullable: false } : { plain: { ...schema, type: only }, nullable: true }
  }
  const ways = waysOf(schema)
  const [only, ...others] = (ways ?? []).filter((way) => way['type'] !== 'null')
  if (only === undefined || others.length > 0) return { plain: schema, nullable: false }
  return { plain: { ...named(schema), ...only }, nullable: ways!.length > 1 }
}

function fieldOf(name: string, given: Schema, required: boolean): Field {
  const { plain: schema, nullable } = withoutNull(given)
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
    nullable,
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
    const index = choices.indexOf(given)
    return index < 0 ? '' : String(index)
  }
  if (given !== undefined) return written(kind, given)
  return kind === 'switch' && required ? 'false' : ''
}

function written(kind: Field['kind'], value: unknown): string {
  return kind === 'text' && typeof value === 'string' ? value : JSON.stringify(value)
}

/** Undefined: omitted. */
function readField({ title, kind, required, nullable, choices }: Field, text: string, of: SchemaForm['of']): ReadValue {
  // A single text may be empty; an empty field of an object is omitted.
  if (text === '' && !(kind === 'text' && of === 'value')) {
    if (!required) return { value: undefined }
    return nullable ? { value: null } : { wrong: `${title} is missing` }
  }
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

function readNumber(title: string, kind: 'number' | 'integer', value: number): ReadValue {
  if (!Number.isFinite(value)) return { wrong: `${title} is not a number` }
  return kind === 'integer' && !Number.isInteger(value) ? { wrong: `${title} is not a whole number` } : { value }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
