/** Demo agent that tells a story. */
import type { LanguageModel } from 'ai'
import { agent } from '../../agents/agent.ts'
import type { Component } from '../../core/ports/component.ts'
import type { DemoFacts } from './lazy.ts'
import { modelOr } from './scripted.ts'
import { story } from './story.ts'

/** The scripted story is deterministic, so an interrupted run resumes at the word where it stopped. */
export function storyteller(facts: DemoFacts, model?: LanguageModel): Component {
  return agent({
    ...facts,
    instructions:
      'Tell a story about what the user asks for, in six or more paragraphs of plain prose, and nothing else.',
    model: modelOr(model, 'storyteller', ({ text }) => story(text)),
  })
}
