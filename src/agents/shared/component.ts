/** What definitions of all kinds say about themselves in the same words. */
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
  /** JSON schema of its input, for those who list it, such as the console, which makes a form of it. It checks nothing. */
  readonly inputSchema?: NonNullable<ComponentInfo['inputSchema']>
}

/** Of a definition that may say more: what goes into the component. It is resumed where nothing else is said. */
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
