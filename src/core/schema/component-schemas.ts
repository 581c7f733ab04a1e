/** The JSON Schemas that a component publishes, for all protocols. */
import type { Component } from '../ports/component.ts'
import type { JsonSchema } from '../ports/schema.ts'
import { jsonSchemaOf } from './json-schema.ts'

export interface ComponentSchemas {
  readonly input?: JsonSchema
  readonly output?: JsonSchema
}

export function schemasOf({ input, output }: Partial<Pick<Component, 'input' | 'output'>>): ComponentSchemas {
  return {
    ...(input !== undefined && { input: jsonSchemaOf(input, 'input') }),
    ...(output !== undefined && { output: jsonSchemaOf(output, 'output') }),
  }
}
