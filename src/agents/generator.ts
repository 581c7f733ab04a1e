/** The simplest agent: an async generator. */
import type { Component } from '../core/ports/component.ts'

export type AgentDefinition<Input> = Omit<Component<Input>, 'kind'>

/** Defines an agent: `agent({ id: 'hello', async *run(input) { yield `Hello, ${input}` } })`. */
export function agent<Input = string>(definition: AgentDefinition<Input>): Component<Input> {
  return { ...definition, kind: 'agent' }
}
