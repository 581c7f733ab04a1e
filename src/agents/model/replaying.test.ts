import { expect, test } from 'vitest'
import { aborted } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import { modelAgent } from './agent.ts'
import { type ScriptedPart, scriptedModel } from './scripted/scripted.ts'

test('model agent: text that a recovered run’s log already has is not paced', async () => {
  async function* outputOf(hangs: boolean, signal: AbortSignal | undefined): AsyncGenerator<ScriptedPart> {
    yield 'one two three'
    if (hangs) await aborted(signal!)
  }
  const component = (hangs: boolean, pace: object): Component =>
    modelAgent({ id: 'subject', model: scriptedModel({ script: ({ signal }) => outputOf(hangs, signal), ...pace }) })
  const world = new World()
  const first = world.worker([component(true, {})])
  const id = await first.start('subject', 'hello')
  await first.emitted(id, 'text.delta', 3)
  world.kill()
  const anHour = { wordsPerSecond: 1 / 3600 }
  expect((await world.worker([component(false, anHour)]).ended(id)).at(-1)!.type).toBe('run.completed')
})
