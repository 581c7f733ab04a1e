/** Definition options that all kinds of components share. */
import type { Component, ComponentInfo } from '../../core/ports/component.ts'

type Common = Pick<
  Component,
  | 'id'
  | 'name'
  | 'description'
  | 'version'
  | 'recovery'
  | 'session'
  | 'disconnect'
  | 'uncertain'
  | 'onDivergence'
  | 'limits'
  | 'redact'
>

export interface CommonDefinition extends Common {
  /** JSON schema of its input for listings and for the console's form. Not used for validation. */
  readonly inputSchema?: NonNullable<ComponentInfo['inputSchema']>
}

/** Extracts the common component fields. Default recovery: `resume`. */
export function commonOf(definition: CommonDefinition): Common & Pick<Component, 'info'> {
  const {
    id,
    name,
    description,
    version,
    recovery = 'resume',
    session,
    disconnect,
    uncertain,
    onDivergence,
    limits,
    redact,
  } = definition
  const { inputSchema } = definition
  return {
    id,
    recovery,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(version !== undefined && { version }),
    ...(session !== undefined && { session }),
    ...(disconnect !== undefined && { disconnect }),
    ...(uncertain !== undefined && { uncertain }),
    ...(onDivergence !== undefined && { onDivergence }),
    ...(limits !== undefined && { limits }),
    ...(redact !== undefined && { redact }),
    ...(inputSchema !== undefined && { info: { inputSchema } }),
  }
}
