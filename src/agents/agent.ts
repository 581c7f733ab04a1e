/** `agent()`: an async generator, or a language model with tools. Its options decide which. */
import { checkOptions, checkRequired, type OptionRules } from '../core/model/check-options.ts'
import { componentRules, runRule } from '../core/schema/component-options.ts'
import { HoldfastError } from '../core/model/errors.ts'
import type { Component } from '../core/ports/component.ts'
import type { ValueSchema } from '../core/ports/schema.ts'
import { modelAgent, type ModelAgentDefinition, modelAgentRules } from './model/agent.ts'

/** An agent that is an async generator. */
export interface AgentDefinition<Input = unknown, Output = unknown, Parsed = Input> extends Omit<
  Component<Input, Output, Parsed>,
  'kind'
> {
  readonly model?: never
}

const RULES: OptionRules<Omit<AgentDefinition, 'model'>> = { ...componentRules, run: runRule }

/** With a schema, which types the input. */
export type TypedAgentDefinition<Input, Output, Parsed> = AgentDefinition<Input, Output, Parsed> & {
  readonly input: ValueSchema<Input, Parsed>
}

/**
 * Defines an agent: as an async generator with `run`, such as `agent({ id: 'hello', async *run(input) { yield `Hello, ${input}` } })`, or
 * on a language model of the AI SDK with `model`.
 */
export function agent(definition: ModelAgentDefinition): Component
export function agent<Input, Parsed = Input, Output = unknown>(
  definition: TypedAgentDefinition<Input, Output, Parsed>,
): Component<Input, Output, Parsed>
export function agent<Input = string, Output = unknown>(
  definition: AgentDefinition<Input, Output>,
): Component<Input, Output>
export function agent(definition: AgentDefinition | ModelAgentDefinition): Component {
  const { run, model, ...rest } = definition
  if (run !== undefined && model !== undefined)
    throw refusal(
      rest,
      'has both run and model: leave one out. With run it is an async generator, with model the AI SDK runs it',
    )
  if (run !== undefined) return generatorAgent({ ...rest, run } as AgentDefinition)
  if (model !== undefined) return modelAgent({ ...rest, model } as ModelAgentDefinition)
  throw refusal(rest, 'has neither run nor model: add `async *run(input) { … }`, or a model of the AI SDK')
}

function generatorAgent(definition: AgentDefinition): Component {
  for (const name of Object.keys(definition))
    if (!Object.hasOwn(RULES, name) && Object.hasOwn(modelAgentRules, name))
      throw refusal(definition, `has the option ${name}, which only agents with model have`)
  checkOptions(`agent ${definition.id}`, definition, RULES)
  checkRequired(`agent ${definition.id}`, definition, ['id'])
  return { ...definition, kind: 'agent' }
}

function refusal({ id }: { readonly id: string }, message: string): HoldfastError {
  return new HoldfastError('invalid_request', `agent ${id}: it ${message}`)
}
