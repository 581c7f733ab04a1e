/** A component that is known at once and loaded by its first run: models and workflows take longer to load than a server to start. */
import type { Component } from '../../core/ports/component.ts'

/** All that can be said about a component before it is loaded. */
export type Facts = Omit<Component, 'run'>

export function lazy<const Known extends Facts>(facts: Known, load: (facts: Known) => Promise<Component>): Component {
  let loaded: Promise<Component> | undefined
  return {
    ...facts,
    async *run(input, context) {
      loaded ??= load(facts)
      try {
        await loaded
      } catch (thrown) {
        loaded = undefined // another run may find what was missing
        throw thrown
      }
      return yield* (await loaded).run(input, context)
    },
  }
}
