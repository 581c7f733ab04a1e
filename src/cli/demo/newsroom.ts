/** Demo team: an editor delegates to two reporters and writes the story from their results. */
import type { LanguageModel } from 'ai'
import { agent } from '../../agents/agent.ts'
import { team } from '../../agents/team/team.ts'
import type { Component } from '../../core/ports/component.ts'
import type { DemoFacts } from './lazy.ts'
import { modelOr } from './scripted.ts'

export function newsroom(facts: DemoFacts, model?: LanguageModel): Component {
  const reporter = (id: string, beat: string): Component =>
    agent({
      id,
      name: id,
      description: `Reports on ${beat}.`,
      instructions: `You report on ${beat}, in three sentences.`,
      model: modelOr(
        model,
        id,
        ({ text }) =>
          `From the ${id} desk, on "${text}": I asked around, and this is what ${beat} has to say about it today.`,
      ),
    })
  return team({
    ...facts,
    mode: 'coordinate',
    members: [reporter('harbour', 'the harbour'), reporter('weather', 'the weather')],
    instructions: 'Send both reporters out, then write the story from what they found.',
    model: modelOr(model, 'editor', ({ turn, text, results }) =>
      turn === 1
        ? ['harbour', 'weather'].map((member) => ({
            type: 'tool',
            name: 'delegate_task_to_member',
            input: { member, task: text },
          }))
        : `Tonight's story. ${results.map(({ output }) => String(output)).join(' ')} That is the news.`,
    ),
  })
}
