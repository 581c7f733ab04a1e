/** Maps names to components. Agents, teams and workflows are kinds of components; the engine treats them alike. */
import type { Component } from './ports/component.ts'
import { HoldfastError } from './model/errors.ts'
import { checkKnownOptions, oneOf } from './model/check-options.ts'
import { componentRules, runRule } from './schema/component-options.ts'
import { checkName } from './model/names.ts'
import { toRules } from './redaction/redaction.ts'

const COMPONENT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

const kindRule = oneOf('agent', 'team', 'workflow')

const VERSION_CHARS_MAX = 128

export class Registry {
  #components: ReadonlyMap<string, Component>
  #list: readonly Component[]
  /** Called when a request names an unknown component. */
  onUnknown: (() => void) | undefined
  /** Whether an unknown component may still be discovered. Its runs then wait instead of failing. */
  isIncomplete: () => boolean = () => false

  constructor(components: Iterable<Component>) {
    this.#components = componentsById(components)
    this.#list = [...this.#components.values()]
  }

  /** Replaces the components. Runs in progress keep the component that they started with. */
  replace(components: Iterable<Component>): void {
    this.#components = componentsById(components)
    this.#list = [...this.#components.values()]
  }

  find(id: string): Component | undefined {
    return this.#components.get(id)
  }

  get(id: string): Component {
    const component = this.#components.get(id)
    if (component === undefined) this.onUnknown?.()
    if (component === undefined) throw new HoldfastError('not_found', `component ${JSON.stringify(id)} not found`)
    return component
  }

  /** Returns the same array until the components are replaced. */
  list(): readonly Component[] {
    return this.#list
  }
}

function componentsById(components: Iterable<Component>): ReadonlyMap<string, Component> {
  const found = new Map<string, Component>()
  for (const component of components) {
    if (!COMPONENT_ID.test(component.id)) {
      throw new HoldfastError(
        'invalid_request',
        `component id ${JSON.stringify(component.id)} must be 1 to 128 letters, digits, '.', '_' or '-'`,
      )
    }
    if (component.version !== undefined)
      checkName(`version of component ${component.id}`, component.version, VERSION_CHARS_MAX)
    checkKnownOptions(`${component.kind} ${component.id}`, component, {
      ...componentRules,
      kind: kindRule,
      run: runRule,
    })
    if (component.redact !== undefined) toRules(component.redact)
    if (found.has(component.id))
      throw new HoldfastError('conflict', `two components have the id ${component.id}: give one of them another id`)
    found.set(component.id, component)
  }
  return found
}
