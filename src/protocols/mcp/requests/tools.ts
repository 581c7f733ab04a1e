/** Components as tools. */
import type { Component } from '../../../core/ports/component.ts'
import type { JsonSchema } from '../../../core/ports/schema.ts'
import { schemasOf } from '../../../core/schema/component-schemas.ts'
import { nestedSchema } from '../../../core/schema/nested-schema.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { fromToken, toToken } from '../wire/tokens.ts'
import type { Params } from './message.ts'

const TOOLS_PER_PAGE = 100

export function toolPage(
  components: readonly Component[],
  cursor: string | undefined,
): { readonly tools: readonly object[]; readonly nextCursor?: string } {
  const after = cursor === undefined ? undefined : fromToken(cursor)?.[0]
  if (cursor !== undefined && typeof after !== 'string')
    throw new HoldfastError('cursor_invalid', 'cursor is not the nextCursor of a tools/list')
  const sorted = components.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const rest = typeof after === 'string' ? sorted.filter(({ id }) => id > after) : sorted
  const page = rest.slice(0, TOOLS_PER_PAGE)
  return {
    tools: page.map(toTool),
    ...(rest.length > page.length && { nextCursor: toToken([page.at(-1)!.id]) }),
  }
}

function toTool(component: Component): object {
  const { id, name, description } = component
  const { output } = schemasOf(component)
  return {
    name: id,
    ...(name !== undefined && { title: name }),
    ...(description !== undefined && { description }),
    inputSchema: argumentsSchema(component),
    ...(isObjectSchema(output) && { outputSchema: output }),
    execution: { taskSupport: 'optional' },
  }
}

/** Arguments must be an object: any other input becomes one of its fields. */
function argumentsSchema(component: Component): object {
  const { input } = schemasOf(component)
  if (isObjectSchema(input)) return input
  const field =
    input === undefined ? { description: 'Text, or any JSON value' } : nestedSchema(input, '#/properties/input')
  return { type: 'object', properties: { input: field }, required: ['input'] }
}

/** Undefined if the arguments lack the input. */
export function inputIn(component: Component, given: Params = {}): { readonly input: unknown } | undefined {
  if (isObjectSchema(schemasOf(component).input)) return { input: given }
  return Object.hasOwn(given, 'input') ? { input: given['input'] } : undefined
}

function isObjectSchema(schema: JsonSchema | undefined): schema is JsonSchema {
  return schema?.['type'] === 'object'
}
