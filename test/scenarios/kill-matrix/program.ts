/** A program that uses every feature of an agent once: as a run, as a member of a team, and as a step. */
import type { Component, Emission, RunContext } from '../../../src/core/ports/component.ts'
import { agent } from '../../../src/agents/agent.ts'
import type { Phase, Scene } from './scene.ts'

/** Phases in which the program can be killed. */
export const PROGRAM_PHASES: readonly Phase[] = [
  'start',
  'between',
  'step',
  'text',
  'tool',
  'uncertain',
  'parallel',
  'paused',
]

export async function* program(scene: Scene, context: RunContext): AsyncGenerator<Emission, string, void> {
  const { step, tool, within, ask } = context
  await scene.hold('start')
  yield 'one '
  await step('gather', scene.work('gather'))
  await scene.hold('between')
  await step('sort', scene.work('sort', 'step'))
  yield 'two '
  await scene.hold('text')
  yield 'three '
  await tool({ name: 'look', input: null, idempotent: true }, scene.work('look', 'tool'))
  await tool({ name: 'pay', input: { amount: 5 } }, scene.work('pay', 'uncertain'))
  await Promise.all([
    within('left').step('left', scene.work('left')),
    within('right').step('right', scene.work('right', 'parallel')),
  ])
  yield `${String(await ask('paused: go on?'))} `
  return 'worked'
}

export function worker(scene: Scene): Component {
  return agent<unknown>({ id: 'worker', run: (_, context) => program(scene, context) })
}

/** A member or step that has one piece of work. */
export function brief(scene: Scene, id: string, phase?: Phase): Component {
  return agent<unknown>({
    id,
    async *run(_, { step }) {
      yield `${id} `
      return await step(id, scene.work(id, phase))
    },
  })
}
