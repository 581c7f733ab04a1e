/** A workflow with a sequence, a parallel block, a loop and a condition. */
import { condition, loop, parallel, step, workflow } from '../../agents/workflow/index.ts'
import type { Component } from '../../core/agent.ts'

interface Draft {
  readonly text: string
  readonly revision: number
}

const wait = (context: { readonly signal: AbortSignal }): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 400)
    context.signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(context.signal.reason as Error)
    })
  })

export function publish(): Component {
  const outline = step({
    name: 'outline',
    async *run(topic: string, context) {
      for (const part of ['Beginning', 'middle', 'end']) {
        await wait(context)
        yield `${part} of "${topic}". `
      }
      return topic
    },
  })
  const research = parallel({
    name: 'research',
    branches: [
      step({ name: 'facts', run: async (topic: string, context) => (await wait(context), [`${topic} exists`]) }),
      step({ name: 'pictures', run: async (topic: string, context) => (await wait(context), `a picture of ${topic}`) }),
    ],
  })
  const draft = step({
    name: 'draft',
    run: ({ facts, pictures }: { facts: string[]; pictures: string }): Draft => ({
      text: `${facts.join(', ')} (${pictures})`,
      revision: 1,
    }),
  })
  const revise = loop({
    name: 'revise',
    maxIterations: 3,
    until: ({ revision }: Draft) => revision >= 3,
    body: step({
      name: 'polish',
      run: async ({ text, revision }: Draft, context): Promise<Draft> => (
        await wait(context),
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
  return workflow({
    id: 'publish',
    name: 'Publish',
    description: 'Outlines, researches, drafts, revises and prints.',
    steps: [outline, research, draft, revise, print],
  })
}
