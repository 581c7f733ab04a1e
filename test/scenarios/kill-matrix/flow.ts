/** The workflow of the matrix: every kind of block, a step of every sort. */
import { condition, loop, parallel, router, step, steps, workflow } from '../../../src/agents/workflow/index.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import type { Declared } from './kinds.ts'
import { brief, worker } from './program.ts'
import type { Phase, Scene } from './scene.ts'

const ROUNDS = 3

export function publishing(declared: Declared, scene: Scene): Component {
  const doing = (name: string, phase?: Phase) =>
    step({ name, run: async (_: unknown): Promise<unknown> => scene.work(name, phase)() })
  const decision = async (): Promise<boolean> => {
    scene.did('decision')
    await scene.hold('handover', 'decision')
    return true
  }
  return workflow({
    ...declared,
    steps: [
      doing('open', 'start'),
      step({ name: 'worker', run: worker(scene) }),
      condition({ name: 'check', when: decision, do: doing('checked', 'condition') }),
      parallel({
        name: 'both',
        branches: [
          doing('left-branch'),
          steps('right-way', [doing('right-first'), doing('right-branch', 'block')]),
          brief(scene, 'agent-branch'),
        ],
      }),
      loop({
        name: 'rounds',
        body: counting(scene),
        maxIterations: ROUNDS,
        until: (_, { iteration }) => iteration === ROUNDS,
      }),
      router({
        name: 'ways',
        choices: [doing('way-a'), doing('way-b', 'router')],
        choose: () => 'way-b',
      }),
      step({
        name: 'publish',
        confirm: 'confirm: publish it?',
        async *run(_: unknown) {
          yield 'published '
          return await scene.work('publish')()
        },
      }),
    ],
  })
}

/** Interrupted in its second round. */
function counting(scene: Scene) {
  return step({
    name: 'round',
    async run(before: unknown): Promise<unknown> {
      const round = typeof before === 'number' ? before + 1 : 1
      scene.did(`round-${round}`)
      if (round === 2) await scene.hold('loop', `round-${round}`)
      return round
    },
  })
}
