/** Parsed but not validated JSON. */
export type UntypedObject = Readonly<Record<string, unknown>>

export function isUntypedObject(value: unknown): value is UntypedObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** ProtoJSON allows the protobuf names of fields too, such as `task_id` for `taskId`. Nested objects are left alone. */
export function inCamelCase(value: unknown): unknown {
  if (!isUntypedObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name.replaceAll(/_([a-z])/g, capital), item]))
}

function capital(_match: string, letter: string): string {
  return letter.toUpperCase()
}
