/** A component that its first run loads, because models and workflows load more slowly than the server starts. */
import type { Component } from '../../core/ports/component.ts'

/** A component's metadata. */
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
        loaded = undefined // so that the next run retries
        throw thrown
      }
      return yield* (await loaded).run(input, context)
    },
  }
}
