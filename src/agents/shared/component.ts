/** Definition options that all kinds of components share. */
import { checkOptions, checkRequired, type OptionRules } from '../../core/model/check-options.ts'
import { componentRules } from '../../core/schema/component-options.ts'
import type { Component } from '../../core/ports/component.ts'

/** Options that all kinds of components have. */
export type CommonDefinition = Pick<
  // oxlint-disable-next-line typescript/no-explicit-any -- any schemas
  Component<any, any>,
  | 'id'
  | 'name'
  | 'description'
  | 'version'
  | 'recovery'
  | 'onBusySession'
  | 'onDisconnect'
  | 'onUncertainTool'
  | 'onDivergence'
  | 'onUnserializable'
  | 'limits'
  | 'redact'
  | 'upstream'
  | 'input'
  | 'output'
>

/** Rules for the common options, for the table of a definition. */
export const commonRules: OptionRules<CommonDefinition> = omit(componentRules, ['info', 'onPause', 'admit'])

function omit<Rules extends object, Name extends keyof Rules>(rules: Rules, names: readonly Name[]): Omit<Rules, Name> {
  return Object.fromEntries(Object.entries(rules).filter(([name]) => !names.includes(name as Name))) as Omit<
    Rules,
    Name
  >
}

/** Checks a definition's options, of which those named are required besides the id. */
export function checkDefinition<Definition extends { readonly id: string }>(
  kind: string,
  definition: Definition,
  rules: OptionRules<Definition>,
  required: readonly (keyof Definition & string)[],
): void {
  const subject = `${kind} ${definition.id}`
  checkOptions(subject, definition, rules)
  checkRequired(subject, definition, ['id', ...required])
}

/** Extracts the common component fields. Default recovery: `resume`. */
export function commonOf(definition: CommonDefinition): CommonDefinition {
  const {
    id,
    name,
    description,
    version,
    recovery = 'resume',
    onBusySession,
    onDisconnect,
    onUncertainTool,
    onDivergence,
    onUnserializable,
    limits,
    redact,
    upstream,
    input,
    output,
  } = definition
  return {
    id,
    recovery,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(version !== undefined && { version }),
    ...(onBusySession !== undefined && { onBusySession }),
    ...(onDisconnect !== undefined && { onDisconnect }),
    ...(onUncertainTool !== undefined && { onUncertainTool }),
    ...(onDivergence !== undefined && { onDivergence }),
    ...(onUnserializable !== undefined && { onUnserializable }),
    ...(limits !== undefined && { limits }),
    ...(redact !== undefined && { redact }),
    ...(upstream !== undefined && { upstream }),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
  }
}
