/** What definitions of all kinds say about themselves in the same words. */
import type { Component } from '../../core/agent.ts'

export type CommonDefinition = Pick<
  Component,
  'id' | 'name' | 'description' | 'recovery' | 'session' | 'disconnect' | 'uncertain' | 'limits'
>

/** Of a definition that may say more: what goes into the component. It is resumed where nothing else is said. */
export function commonOf(definition: CommonDefinition): CommonDefinition {
  const { id, name, description, recovery = 'resume', session, disconnect, uncertain, limits } = definition
  return {
    id,
    recovery,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(session !== undefined && { session }),
    ...(disconnect !== undefined && { disconnect }),
    ...(uncertain !== undefined && { uncertain }),
    ...(limits !== undefined && { limits }),
  }
}
