/** The simplest agent: an async generator. */
import type { Component } from '../core/ports/component.ts'
import { checkOptions, checkRequired, type OptionRules } from '../core/model/check-options.ts'
import { componentRules, runRule } from '../core/model/component-options.ts'
import type { ValueSchema } from '../core/ports/schema.ts'

export type AgentDefinition<Input = unknown, Output = unknown, Parsed = Input> = Omit<
  Component<Input, Output, Parsed>,
  'kind'
>

const RULES: OptionRules<AgentDefinition> = { ...componentRules, run: runRule }

/** With a schema, which types the input. */
type WithInput<Input, Output, Parsed> = AgentDefinition<Input, Output, Parsed> & {
  readonly input: ValueSchema<Input, Parsed>
}

/** Defines an agent: `agent({ id: 'hello', async *run(input) { yield `Hello, ${input}` } })`. */
export function agent<Input, Parsed = Input, Output = unknown>(
  definition: WithInput<Input, Output, Parsed>,
): Component<Input, Output, Parsed>
export function agent<Input = string, Output = unknown>(
  definition: AgentDefinition<Input, Output>,
): Component<Input, Output>
export function agent(definition: AgentDefinition): Component {
  checkOptions(`agent ${definition.id}`, definition, RULES)
  checkRequired(`agent ${definition.id}`, definition, ['id', 'run'])
  return { ...definition, kind: 'agent' }
}
