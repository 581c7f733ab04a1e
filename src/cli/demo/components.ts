/** The demo's components, on the scripted model (no key, no network) or on a configured one. */
import { modelInput, type ModelInput } from '../../agents/model/input.ts'
import type { Component } from '../../core/ports/component.ts'
import type { DescribedSchema } from '../../core/ports/schema.ts'
import { lazy } from './lazy.ts'
import type { DemoModel } from './model.ts'

/** Metadata is here; the implementations are loaded on first use. */
export function demoComponents(model: DemoModel): Component[] {
  return [
    lazy(
      {
        id: 'storyteller',
        kind: 'agent',
        name: 'Storyteller',
        description: 'Tells a story about what you ask for, such as "Tell me a story about a brave knight".',
        input: textInput('Tell me a story about a brave knight'),
        recovery: 'resume',
      },
      async (facts) => (await import('./storyteller.ts')).storyteller(facts, await model.load()),
    ),
    lazy(
      {
        id: 'clerk',
        kind: 'agent',
        name: 'Clerk',
        description: 'Looks up a balance, and asks before it sends money.',
        input: textInput('Send 25 to Ada'),
        recovery: 'resume',
      },
      async (facts) => (await import('./clerk.ts')).clerk(facts, await model.load()),
    ),
    lazy(
      {
        id: 'newsroom',
        kind: 'team',
        name: 'Newsroom',
        description: 'An editor, who sends two reporters out and writes the story.',
        input: textInput('the regatta'),
        info: {
          mode: 'coordinate',
          members: ['harbour', 'weather'].map((id) => ({ id, kind: 'agent', name: id })),
        },
        recovery: 'resume',
      },
      async (facts) => (await import('./newsroom.ts')).newsroom(facts, await model.load()),
    ),
    lazy(
      {
        id: 'publish',
        kind: 'workflow',
        name: 'Publish',
        description: 'Outlines, researches, drafts, revises and prints.',
        input: textInput('the lighthouse'),
        recovery: 'resume',
      },
      async (facts) => (await import('./publish.ts')).publish(facts, await model.load()),
    ),
  ]
}

/** The form asks for text only. */
function textInput(example: string): DescribedSchema<ModelInput> {
  return { schema: modelInput, jsonSchema: { type: 'string', examples: [example] } }
}
