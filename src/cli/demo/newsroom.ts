/** A team on the scripted model: an editor gives two reporters their tasks and writes the story from what they found. */
import type { Component } from '../../core/agent.ts'
import { modelAgent } from '../../agents/model/agent.ts'
import { scriptedModel } from '../../agents/model/scripted.ts'
import { team } from '../../agents/team/team.ts'

const WORDS_PER_SECOND = 15

export function newsroom(): Component {
  const reporter = (id: string, beat: string): Component =>
    modelAgent({
      id,
      name: id,
      description: `Reports on ${beat}.`,
      instructions: `You report on ${beat}.`,
      model: scriptedModel({
        id,
        wordsPerSecond: WORDS_PER_SECOND,
        script: ({ text }) =>
          `From the ${id} desk, on "${text}": I asked around, and this is what ${beat} has to say about it today.`,
      }),
    })
  return team({
    id: 'newsroom',
    name: 'Newsroom',
    description: 'An editor, who sends two reporters out and writes the story.',
    mode: 'coordinate',
    members: [reporter('harbour', 'the harbour'), reporter('weather', 'the weather')],
    instructions: 'Send both reporters out, then write the story from what they found.',
    model: scriptedModel({
      id: 'editor',
      wordsPerSecond: WORDS_PER_SECOND,
      script: ({ turn, text, results }) =>
        turn === 1
          ? ['harbour', 'weather'].map((member) => ({
              type: 'tool',
              name: 'delegate_task_to_member',
              input: { member, task: text },
            }))
          : `Tonight's story. ${results.map(({ output }) => String(output)).join(' ')} That is the news.`,
    }),
  })
}
