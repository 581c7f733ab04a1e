/** Components of a fuzzed server: for any input they emit events of every kind, and end soon without a failure. */
import type { Component, ComponentKind, RunContext } from '../../src/core/ports/component.ts'

const TEXT_CHARS_MAX = 2000

/** The ids that `test/security/requests.ts` calls. */
export function fuzzComponents(): Component[] {
  return [echo('lab', 'agent'), echo('lab-team', 'team'), echo('lab-workflow', 'workflow')]
}

function echo(id: string, kind: ComponentKind): Component {
  return { id, kind, name: 'Echo', description: 'Says what it is given.', recovery: 'resume', run: say }
}

/** Asks a question if its input contains the word `ask`. */
async function* say(input: unknown, context: RunContext) {
  const given = (typeof input === 'string' ? input : JSON.stringify(input)).slice(0, TEXT_CHARS_MAX)
  yield { type: 'reasoning.delta', data: { text: 'Let me see. ' } } as const
  yield given
  await context.tool({ name: 'look', input: { given } }, () => given.length)
  yield {
    type: 'artifact.added',
    data: { artifact: 'note', name: 'note', mediaType: 'text/plain', text: given },
  } as const
  if (given.includes('ask')) yield `You said ${JSON.stringify(await context.ask({ prompt: 'Go on?' })).slice(0, 100)}.`
  return { given }
}
