/** The components that agno's example scripts name, on a scripted model. */
import { tool } from 'ai'
import { z } from 'zod'
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { scriptedModel } from '../../../src/agents/model/scripted/scripted.ts'
import { step, workflow } from '../../../src/agents/workflow/index.ts'
import type { Component } from '../../../src/core/ports/component.ts'

const WORDS_PER_SECOND = 40
const ANSWER = 'A run that is stored before it is sent can be sent again from any position, to anybody. '.repeat(4)

/** Calls its tool, which needs approval, if the request matches; otherwise it answers. */
function asking(id: string, when: RegExp): Component {
  return modelAgent({
    id,
    name: id,
    tools: {
      act: tool({ inputSchema: z.object({ on: z.string() }), needsApproval: true, execute: ({ on }) => `did ${on}` }),
    },
    model: scriptedModel({
      id,
      wordsPerSecond: WORDS_PER_SECOND,
      script: ({ turn, text }) =>
        turn === 1 && when.test(text) ? [{ type: 'tool', name: 'act', input: { on: text } }] : ANSWER,
    }),
  })
}

/** Looks two cities up at once, then answers. */
function lookingUp(id: string): Component {
  const fact = tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => `${city} is old.` })
  return modelAgent({
    id,
    name: id,
    tools: { get_city_fact: fact },
    model: scriptedModel({
      id,
      script: ({ turn, text }) =>
        turn === 1 && /^call/i.test(text)
          ? ['Paris', 'Kyoto'].map((city) => ({ type: 'tool', name: 'get_city_fact', input: { city } }))
          : ANSWER,
    }),
  })
}

function answering(id: string, words = ANSWER): Component {
  return modelAgent({
    id,
    name: id,
    model: scriptedModel({ id, wordsPerSecond: WORDS_PER_SECOND, script: () => words }),
  })
}

/** Scripts that name no component take the first of its kind. */
export const components: readonly Component[] = [
  asking('resumable-stream-agent', /^(reserve|search)/i),
  asking('confirmation-agent', /^restart/i),
  asking('approval-record-agent', /^deploy/i),
  lookingUp('checkpoint-agent'),
  answering('cancellable-agent', ANSWER.repeat(20)),
  answering('background-run-agent'),
  answering('getting-started-agent'),
  answering('assistant'),
  workflow({
    id: 'release-notes-workflow',
    name: 'Release notes',
    steps: [
      step({ name: 'Draft', run: answering('drafter'), input: (input: unknown) => String(input) }),
      step({ name: 'Edit', run: answering('editor'), input: (input: unknown) => String(input) }),
    ],
  }),
]
