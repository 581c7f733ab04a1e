import { expect, test } from 'vitest'
import type { Actor, LoggedEvent } from '../../../core/model/event.ts'
import { type Artifacts, addText, toArtifacts, retract } from './artifacts.ts'

function actor(run: string): Actor {
  return { component: 'echo', run, parent: 'run', kind: 'agent' }
}

/** One artifact for each actor, then an attempt of one of them that is discarded. */
function leftAfter(actors: readonly string[], discarded: string): string[] {
  let artifacts: Artifacts | undefined
  for (const [index, run] of actors.entries()) {
    const event = { run: 'run', index, time: '', type: 'text.delta', actor: actor(run), data: { text: run } }
    artifacts = addText(artifacts, event as Extract<LoggedEvent, { type: 'text.delta' }>).artifacts
  }
  const event = {
    run: 'run',
    index: actors.length,
    time: '',
    type: 'attempt.discarded',
    actor: actor(discarded),
    data: { from: 0, scope: 'below', reason: '' },
  }
  const changed = retract(artifacts, event as unknown as Extract<LoggedEvent, { type: 'attempt.discarded' }>)
  return toArtifacts(changed.artifacts).flatMap(({ parts }) => parts.flatMap(({ text }) => text || []))
}

test('A2A: a retracted attempt takes back its own text and that of its callees, not of an actor whose name begins alike', () => {
  const actors = ['run/facts', 'run/facts/check', 'run/facts-more', 'run/facts-more/check', 'run/other']
  expect(leftAfter(actors, 'run/facts')).toEqual(['run/facts-more', 'run/facts-more/check', 'run/other'])
})
