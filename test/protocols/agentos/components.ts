/** Components for the tests of this protocol: on the scripted model, and workflows with every kind of block and gate. */
import { tool } from 'ai'
import { z } from 'zod'
import { agent } from '../../../src/agents/agent.ts'
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { scriptedModel } from '../../../src/agents/model/scripted/scripted.ts'
import { team } from '../../../src/agents/team/team.ts'
import { condition, loop, parallel, router, step, steps, workflow } from '../../../src/agents/workflow/index.ts'
import { type Component, createEvent } from '../../../src/core/ports/component.ts'

/** Looks up a balance by itself, and sends money only after an approval. */
export const clerk: Component = modelAgent({
  id: 'clerk',
  name: 'Clerk',
  instructions: 'Look up the balance before you send money.',
  tools: {
    balance: tool({ inputSchema: z.object({}), execute: () => ({ balance: 120 }) }),
    send: tool({
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      needsApproval: true,
      execute: ({ to, amount }) => ({ sent: amount, to }),
    }),
  },
  model: scriptedModel({
    id: 'clerk-model',
    script({ turn, results }) {
      if (turn === 1) return ['Let me look. ', { type: 'tool', name: 'balance', input: {} }]
      if (turn === 2) return ['I will send 25. ', { type: 'tool', name: 'send', input: { to: 'Ada', amount: 25 } }]
      return results.at(-1)?.failed === true ? 'I have sent nothing.' : 'Done: Ada has 25 more.'
    },
  }),
})

const reporter = (id: string): Component =>
  modelAgent({
    id,
    name: `The ${id} desk`,
    description: `Reports on the ${id}.`,
    model: scriptedModel({ id: `${id}-model`, script: ({ text }) => `From the ${id}: ${text} is well.` }),
  })

/** A leader that delegates to both members and combines their outputs. */
export const newsroom: Component = team({
  id: 'newsroom',
  name: 'Newsroom',
  members: [reporter('harbour'), reporter('weather')],
  model: scriptedModel({
    id: 'editor',
    script: ({ turn, text, results }) =>
      turn === 1
        ? ['harbour', 'weather'].map((member) => ({
            type: 'tool',
            name: 'delegate_task_to_member',
            input: { member, task: text },
          }))
        : `Tonight: ${results.map(({ output }) => String(output)).join(' ')}`,
  }),
})

interface Draft {
  readonly text: string
  readonly revision: number
}

/** Every kind of block once. */
export const publish: Component = workflow({
  id: 'publish',
  name: 'Publish',
  steps: [
    step({
      name: 'outline',
      async *run(topic: string) {
        yield `Outline of ${topic}. `
        return topic
      },
    }),
    parallel({
      name: 'research',
      branches: [
        step({ name: 'facts', run: (topic: string) => [`${topic} exists`] }),
        step({ name: 'pictures', run: (topic: string) => `a picture of ${topic}` }),
      ],
    }),
    step({
      name: 'draft',
      run: ({ facts, pictures }: { facts: string[]; pictures: string }): Draft => ({
        text: `${facts.join(', ')} (${pictures})`,
        revision: 1,
      }),
    }),
    loop({
      name: 'revise',
      maxIterations: 3,
      until: ({ revision }: Draft) => revision >= 3,
      body: step({
        name: 'polish',
        run: ({ text, revision }: Draft): Draft => ({ text: `${text}!`, revision: revision + 1 }),
      }),
    }),
    condition({
      name: 'long enough',
      when: ({ text }: Draft) => text.length > 5,
      do: step({ name: 'keep', run: (draft: Draft) => draft }),
    }),
    router({
      name: 'medium',
      choices: [
        steps('paper', [step({ name: 'print', run: ({ text }: Draft) => `Printed: ${text}` })]),
        step({ name: 'radio', run: ({ text }: Draft) => `Read: ${text}` }),
      ],
      choose: () => 'paper',
    }),
  ],
})

/** Asks before a step, for an input, for a branch, and for a review of a result. */
export const gated: Component = workflow({
  id: 'gated',
  name: 'Gated',
  steps: [
    step({ name: 'confirmed', confirm: 'Shall it begin?', run: (input: unknown) => input }),
    step({
      name: 'asked',
      question: { prompt: 'In which town?' },
      run: (input: unknown, { answer }) => `${String(input)} in ${String(answer)}`,
    }),
    router({
      name: 'way',
      choices: [
        step({ name: 'left', run: (input: unknown) => `${String(input)}, left` }),
        step({ name: 'right', run: (input: unknown) => `${String(input)}, right` }),
      ],
      choose: { prompt: 'Left or right?' },
    }),
    step({ name: 'reviewed', review: 'Is it good?', run: (input: unknown) => input }),
    step({ name: 'executed', run: clerk, input: (input: unknown) => String(input) }),
  ],
})

/** Emits custom events, one of them without a name. */
export const nameless: Component = agent<unknown>({
  id: 'nameless',
  async *run() {
    yield createEvent('custom.emitted', { name: 'named', value: { lines: 'one\ntwo\n\nthree' } })
    yield createEvent('custom.emitted', { name: '', value: 1 })
  },
})

/** Returns its input. */
export const echo: Component = agent<unknown>({
  id: 'echo',
  // oxlint-disable-next-line require-yield -- its answer is what it returns
  async *run(input, { metadata }) {
    return { input, metadata }
  },
})

export const components: readonly Component[] = [clerk, newsroom, publish, gated, nameless, echo]
