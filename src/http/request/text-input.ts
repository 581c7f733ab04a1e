/** Inputs of protocols that send texts: a component whose schema excludes texts gets the JSON that the text holds. */
import type { Component } from '../../core/ports/component.ts'
import { checkJson } from '../../core/schema/check-json.ts'
import { schemasOf } from '../../core/schema/component-schemas.ts'
import { parseJsonOrText } from './json.ts'

/** The input itself, unless it is a text that does not fit and holds JSON. Whether that fits is checked at the start. */
export function textInput(component: Component, input: unknown): unknown {
  const { input: schema } = schemasOf(component)
  if (typeof input !== 'string' || schema === undefined || checkJson(schema, input) === undefined) return input
  return parseJsonOrText(input)
}
