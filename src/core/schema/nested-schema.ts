/** A JSON Schema as a part of another document. */
import type { JsonSchema } from '../ports/schema.ts'

/** Without its dialect; local references lead to its place within the document: `root` is a JSON pointer such as `#/properties/input`. */
export function nestedSchema(schema: JsonSchema, root: string): JsonSchema {
  const { $schema: _dialect, ...nested } = JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === '$ref' && typeof value === 'string' && value.startsWith('#') ? root + value.slice(1) : value,
    ),
  ) as Record<string, unknown>
  return nested
}
