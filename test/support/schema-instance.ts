/** Values that fit a JSON schema, derived from the schema and the prompt: the output of an obedient model. */

interface Schema {
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly minimum?: number
}

/** `name`: of the property that is filled. A text takes the word that follows it in the prompt: "with value RED" gives "RED". */
export function instanceOf(given: unknown, prompt: string, name = ''): unknown {
  const schema = (given ?? {}) as Schema
  if ('const' in schema) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return instanceOf(schema.anyOf[0], prompt, name)
  const type = typeof schema.type === 'object' ? schema.type[0] : schema.type
  switch (type) {
    case 'string':
      return named(name, prompt) ?? 'text'
    case 'number':
    case 'integer':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return [instanceOf(schema.items, prompt, name)]
    default:
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([key, inner]) => [key, instanceOf(inner, prompt, key)]),
      )
  }
}

function named(name: string, prompt: string): string | undefined {
  const words = prompt.split(/[\s.,;:!?]+/)
  const at = name === '' ? -1 : words.indexOf(name)
  return at < 0 ? undefined : words[at + 1]
}
