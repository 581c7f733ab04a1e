/** Embeds a JSON Schema in another document. */
import type { JsonSchema } from '../ports/schema.ts'

/** Removes the dialect and rewrites local references. `root`: JSON pointer to the schema's position, such as `#/properties/input`. */
export function nestedSchema(schema: JsonSchema, root: string): JsonSchema {
  const { $schema: _dialect, ...nested } = JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === '$ref' && typeof value === 'string' && value.startsWith('#') ? root + value.slice(1) : value,
    ),
  ) as Record<string, unknown>
  return nested
}
