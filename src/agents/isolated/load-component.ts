/** Finds the component that a module exports, and describes it without running it. */
import type { Component, ComponentDescription } from '../../core/ports/component.ts'
import type { JsonSchema } from '../../core/ports/schema.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { jsonSchemaOf } from '../../core/schema/json-schema.ts'

export async function loadComponent(module: string, name: string | undefined): Promise<Component> {
  const exported = (await import(module)) as Record<string, unknown>
  if (name !== undefined) {
    const component = exported[name]
    if (isComponent(component)) return component
    throw new HoldfastError('invalid_request', `${module} does not export a component named ${name}`)
  }
  const found = [...new Set(Object.values(exported).filter(isComponent))]
  if (found.length === 1) return found[0]!
  const problem = found.length === 0 ? 'exports no component' : `exports ${found.length} components`
  throw new HoldfastError('invalid_request', `${module} ${problem}: select one of its exports with \`export\``)
}

function isComponent(value: unknown): value is Component {
  const { id, kind, run } = (value ?? {}) as Partial<Component>
  return typeof id === 'string' && typeof kind === 'string' && typeof run === 'function'
}

/** A component as the server's thread knows it. */
export interface ModuleDescription {
  readonly facts: ComponentDescription
  readonly input?: JsonSchema
  readonly output?: JsonSchema
}

export function describeComponent(component: Component): ModuleDescription {
  const { input, output } = component
  return {
    facts: factsOf(component),
    ...(input !== undefined && { input: jsonSchemaOf(input, 'input') }),
    ...(output !== undefined && { output: jsonSchemaOf(output, 'output') }),
  }
}

/** Copies the known fields as plain data: a component may have others that cannot be cloned. */
export function factsOf(component: Omit<Component, 'run'>): ComponentDescription {
  if (component.redact !== undefined)
    throw new TypeError(
      `component ${component.id} has \`redact\`, which cannot cross into a thread: pass it to isolated() instead`,
    )
  const facts = Object.fromEntries(
    FACTS.flatMap((key) => (component[key] === undefined ? [] : [[key, component[key]]])),
  )
  return JSON.parse(JSON.stringify(facts)) as ComponentDescription
}

const FACTS = [
  'id',
  'kind',
  'name',
  'description',
  'info',
  'recovery',
  'onBusySession',
  'onDisconnect',
  'onUncertainTool',
  'onDivergence',
  'onUnserializable',
  'limits',
] as const satisfies readonly (keyof ComponentDescription)[]
