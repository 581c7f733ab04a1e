/** Rules for the options that all kinds of components share. */
import type { Component } from '../ports/component.ts'
import { checkSchema, type SchemaSide } from './json-schema.ts'
import {
  aCount,
  aFunction,
  anAmount,
  anObject,
  aString,
  oneOf,
  type OptionRule,
  optionsOf,
  type OptionRules,
} from '../model/check-options.ts'

type ComponentOptions = OptionRules<Omit<Component, 'kind' | 'run'>>

const limits: OptionRules<NonNullable<Component['limits']>> = {
  runTimeoutMs: anAmount,
  runIdleTimeoutMs: anAmount,
  replayWaitMs: anAmount,
  maxAttempts: anAmount,
  stopGraceMs: anAmount,
  maxConcurrentWork: aCount,
  maxTotalWork: aCount,
  maxTotalCalls: aCount,
}

export const componentRules: ComponentOptions = {
  id: aString,
  name: aString,
  description: aString,
  version: aString,
  info: anObject,
  recovery: oneOf('fail', 'retry', 'resume'),
  onBusySession: oneOf('reject', 'enqueue', 'interrupt', 'parallel'),
  onDisconnect: oneOf('continue', 'stop'),
  onUncertainTool: oneOf('ask', 'fail'),
  onDivergence: oneOf('ask', 'fail'),
  onUnserializable: oneOf('fail', 'replace'),
  limits: optionsOf(limits),
  onPause: oneOf('keep', 'release'),
  redact: anObject,
  input: aSchema('input'),
  output: aSchema('output'),
  admit: aFunction,
  upstream: anObject,
}

export const runRule: OptionRule = {
  expected: 'an async generator, such as `async *run(input) { … }`',
  check: aFunction.check,
}

function aSchema(side: SchemaSide): OptionRule {
  return {
    expected: 'a schema',
    check: (value) => {
      checkSchema(value, side)
      return true
    },
  }
}
