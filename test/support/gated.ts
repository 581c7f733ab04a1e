/** Runs that hold their worker slot for as long as a test needs it. */
import type { Component } from '../../src/core/ports/component.ts'
import { subject } from './node.ts'

/** A component whose runs wait until the gate is opened, and the inputs of those that were started, in order. */
export function gated(): { readonly component: Component; readonly started: unknown[]; readonly open: () => void } {
  const gate = Promise.withResolvers<void>()
  const started: unknown[] = []
  const component = subject(async function* (input) {
    started.push(input)
    await gate.promise
    yield 'done'
  })
  return { component, started, open: () => gate.resolve() }
}
