/** Validates values with Standard Schemas. Lists of issues are bounded: a value may be wrong in a million places. */
import type { DescribedSchema, SchemaIssue, StandardIssue, StandardSchema, ValueSchema } from '../ports/schema.ts'
import { messageOf } from '../model/errors.ts'

/** `value` is what the schema returned, unless there are issues. */
export interface ValidationResult {
  readonly value?: unknown
  readonly issues?: readonly SchemaIssue[]
  /** What the schema's code threw. */
  readonly cause?: unknown
}

export async function validate(schema: ValueSchema, value: unknown): Promise<ValidationResult> {
  try {
    const result = await standardOf(schema)['~standard'].validate(value)
    if (result.issues === undefined) return { value: result.value }
    return { issues: result.issues.slice(0, ISSUES_MAX).map(toIssue) }
  } catch (thrown) {
    // A transform or a refinement threw for this value.
    return { issues: [{ path: '', message: messageOf(thrown).slice(0, MESSAGE_CHARS_MAX) }], cause: thrown }
  }
}

function standardOf(schema: ValueSchema): StandardSchema {
  return isDescribed(schema) ? schema.schema : schema
}

export function isDescribed(schema: unknown): schema is DescribedSchema {
  return typeof schema === 'object' && schema !== null && isStandardSchema((schema as Partial<DescribedSchema>).schema)
}

/** Schemas of some libraries are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const { '~standard': standard } = value as Partial<StandardSchema>
  return typeof standard?.validate === 'function'
}

/** Issues in one line: `city: expected string; days[0]: too small`. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
}

const ISSUES_MAX = 20
const MESSAGE_CHARS_MAX = 300
const PATH_CHARS_MAX = 200
const PATH_KEYS_MAX = 50

function toIssue({ path = [], message }: StandardIssue): SchemaIssue {
  return { path: pathText(path), message: message.slice(0, MESSAGE_CHARS_MAX) }
}

function pathText(path: NonNullable<StandardIssue['path']>): string {
  let text = ''
  for (const part of path.slice(0, PATH_KEYS_MAX)) {
    const key = typeof part === 'object' ? part.key : part
    if (typeof key === 'number' || /^\d+$/.test(String(key))) text += `[${String(key)}]`
    else text += text === '' ? String(key) : `.${String(key)}`
  }
  return text.slice(0, PATH_CHARS_MAX)
}
