/** The body of `POST /runs` for each component whose input has a JSON Schema, for the OpenAPI document. */
import type { Component } from '../../../core/ports/component.ts'
import { schemasOf } from '../../../core/schema/component-schemas.ts'
import { nestedSchema } from '../../../core/schema/nested-schema.ts'

export interface ComponentBodies {
  /** By name of the schema. */
  readonly schemas: Readonly<Record<string, object>>
  /** Names of the schemas, by component. */
  readonly mapping: Readonly<Record<string, string>>
}

/** `start`: the schema of a start of any component. */
export function componentBodies(
  components: readonly Component[],
  start: { readonly properties?: object },
): ComponentBodies {
  const schemas: Record<string, object> = {}
  const mapping: Record<string, string> = {}
  for (const component of components) {
    const { input } = schemasOf(component)
    if (input === undefined) continue
    const name = `Start.${component.id}`
    const schema = nestedSchema(input, `#/components/schemas/${name}/properties/input`)
    mapping[component.id] = `#/components/schemas/${name}`
    schemas[name] = {
      ...start,
      properties: { ...start.properties, component: { const: component.id }, input: schema },
      required: ['component', 'input'],
    }
  }
  return { schemas, mapping }
}
