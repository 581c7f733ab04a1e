/** Converts text inputs: a component whose schema does not accept text gets the JSON that the text contains. */
import type { Component } from '../../core/ports/component.ts'
import { checkJson } from '../../core/schema/check-json.ts'
import { schemasOf } from '../../core/schema/component-schemas.ts'
import { parseJsonOrText } from './json.ts'

/** Returns the input itself, unless it is a text that the schema rejects and that contains JSON. The start validates the result. */
export function textInput(component: Component, input: unknown): unknown {
  const { input: schema } = schemasOf(component)
  if (typeof input !== 'string' || schema === undefined || checkJson(schema, input) === undefined) return input
  return parseJsonOrText(input)
}
