/** A component that its first run loads, because models and workflows load more slowly than the server starts. */
import type { CommonDefinition } from '../../agents/shared/component.ts'
import type { Component } from '../../core/ports/component.ts'

/** Fields that the loaded component and its placeholder share. */
export type DemoFacts = Omit<CommonDefinition, 'output'>

export function lazy(
  { kind, info, ...facts }: DemoFacts & Pick<Component, 'kind' | 'info'>,
  load: (facts: DemoFacts) => Promise<Component>,
): Component {
  let loaded: Promise<Component> | undefined
  return {
    ...facts,
    kind,
    ...(info !== undefined && { info }),
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
