/** The output schema of a model agent or team, as its listing shows it. */
import type { FlexibleSchema } from 'ai'
import type { Component } from '../../core/ports/component.ts'
import { fromCheck, jsonSchemaOf } from '../../core/schema/json-schema.ts'
import { isStandardSchema } from '../../core/schema/validate.ts'

/** For listings only: the loop has validated the output. Schemas of the AI SDK itself are not listed. */
export function listedOutput(output: FlexibleSchema | undefined): Pick<Component, 'output'> {
  if (output === undefined || !isStandardSchema(output)) return {}
  try {
    return { output: fromCheck((value) => value, jsonSchemaOf(output, 'output')) }
  } catch {
    return {} // the AI SDK converts more libraries than those that convert themselves
  }
}
