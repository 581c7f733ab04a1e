/** Demo workflow with a sequence, a parallel block, a loop and a condition; two steps are agents. */
import type { LanguageModel } from 'ai'
import { agent } from '../../agents/agent.ts'
import { delay } from '../../agents/shared/delay.ts'
import { condition, loop, parallel, step, workflow } from '../../agents/workflow/index.ts'
import type { Component } from '../../core/ports/component.ts'
import type { DemoFacts } from './lazy.ts'
import { modelOr } from './scripted.ts'

interface Draft {
  readonly text: string
  readonly revision: number
}

const WORK_MS = 400

export function publish(facts: DemoFacts, model?: LanguageModel): Component {
  const outline = step({
    name: 'outline',
    run: agent({
      id: 'outliner',
      instructions: 'Outline an article about what you are given, in three short sentences.',
      model: modelOr(model, 'outliner', ({ text }) => `Beginning, middle and end of "${text}".`),
    }),
  })
  const research = parallel({
    name: 'research',
    branches: [
      step({
        name: 'facts',
        run: agent({
          id: 'researcher',
          instructions: 'Give three facts for the article that you are given the outline of.',
          model: modelOr(model, 'researcher', ({ text }) => `Of ${text.length} letters, not one was made up.`),
        }),
      }),
      step({
        name: 'pictures',
        run: async (_outline: unknown, { signal }) => (await delay(WORK_MS, signal), 'a picture of the harbour'),
      }),
    ],
  })
  const draft = step({
    name: 'draft',
    run: ({ facts: found, pictures }: { facts: unknown; pictures: string }): Draft => ({
      text: `${String(found)} (${pictures})`,
      revision: 1,
    }),
  })
  const revise = loop({
    name: 'revise',
    maxIterations: 3,
    until: ({ revision }: Draft) => revision >= 3,
    body: step({
      name: 'polish',
      run: async ({ text, revision }: Draft, { signal }): Promise<Draft> => (
        await delay(WORK_MS, signal),
        { text: `${text}!`, revision: revision + 1 }
      ),
    }),
  })
  const print = condition({
    name: 'long enough',
    when: ({ text }: Draft) => text.length > 10,
    do: step({ name: 'print', run: ({ text }: Draft) => `Published: ${text}` }),
    else: step({ name: 'shelve', run: ({ text }: Draft) => `Shelved: ${text}` }),
  })
  return workflow({ ...facts, steps: [outline, research, draft, revise, print] })
}
