/** Demo agent with tools: looks up a balance, and asks for approval before it sends money. */
import { type LanguageModel, tool } from 'ai'
import { z } from 'zod'
import { agent } from '../../agents/agent.ts'
import type { Component } from '../../core/ports/component.ts'
import type { DemoFacts } from './lazy.ts'
import { modelOr } from './scripted.ts'

export function clerk(facts: DemoFacts, model?: LanguageModel): Component {
  return agent({
    ...facts,
    instructions: 'Look up the balance before you send money.',
    tools: {
      balance: tool({
        description: 'The balance of the account.',
        inputSchema: z.object({}),
        execute: () => ({ balance: 120, currency: 'EUR' }),
      }),
      send: tool({
        description: 'Sends money. Needs approval.',
        inputSchema: z.object({ to: z.string(), amount: z.number().positive() }),
        needsApproval: true,
        execute: ({ to, amount }) => ({ sent: amount, to }),
      }),
    },
    model: modelOr(model, 'clerk', ({ turn, results }) => {
      if (turn === 1) return ['Let me look. ', { type: 'tool', name: 'balance', input: {} }]
      if (turn === 2)
        return [
          'There are 120 euros. I will send 25. ',
          { type: 'tool', name: 'send', input: { to: 'Ada', amount: 25 } },
        ]
      return results.at(-1)?.failed === true ? 'I have sent nothing.' : 'Done: Ada has 25 euros more.'
    }),
  })
}
