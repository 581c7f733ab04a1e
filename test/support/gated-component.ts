/** Runs that hold their worker slot until the test releases them. */
import type { Component } from '../../src/core/ports/component.ts'
import { subject } from './node.ts'

/** A component whose runs wait for the gate, and the inputs of started runs, in order. */
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
