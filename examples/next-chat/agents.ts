import { tool } from 'ai'
import { agent, holdfast } from 'holdfast'
import { scriptedModel } from 'holdfast/ai'
import { z } from 'zod'

/** The model is scripted and needs no key; use any AI SDK model in its place. */
const bank = agent({
  id: 'bank',
  recovery: 'resume',
  tools: {
    send: tool({ inputSchema: z.object({ amount: z.number() }), needsApproval: true, execute: ({ amount }) => amount }),
  },
  model: scriptedModel({
    wordsPerSecond: 20,
    script: ({ results }) =>
      results.length === 0
        ? ['I will send it. ', { type: 'tool', name: 'send', input: { amount: 25 } }]
        : 'It is sent.',
  }),
})

export const hf = holdfast({
  components: [bank],
  store: `sqlite:${process.env.DATABASE ?? '.holdfast/holdfast.db'}`,
  protocols: { 'ai-sdk': '/api/chat' },
})
