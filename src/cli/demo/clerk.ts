/** An agent with tools on the scripted model: it looks up a balance by itself, and sends money only when somebody says yes. */
import type { ToolSet } from 'ai'
import { modelAgent } from '../../agents/model/agent.ts'
import { scriptedModel } from '../../agents/model/scripted.ts'
import type { Component } from '../../core/agent.ts'

export function clerk(): Component {
  return modelAgent({
    id: 'clerk',
    name: 'Clerk',
    description: 'Looks up a balance, and asks before it sends money.',
    instructions: 'Look up the balance before you send money.',
    tools: loadTools,
    model: scriptedModel({
      id: 'clerk',
      wordsPerSecond: 15,
      script({ turn, results }) {
        if (turn === 1) return ['Let me look. ', { type: 'tool', name: 'balance', input: {} }]
        if (turn === 2)
          return [
            'There are 120 euros. I will send 25. ',
            { type: 'tool', name: 'send', input: { to: 'Ada', amount: 25 } },
          ]
        return results.at(-1)?.failed === true ? 'I have sent nothing.' : 'Done: Ada has 25 euros more.'
      },
    }),
  })
}

/** Only when a run needs them: the AI SDK takes longer to load than the server to start. */
async function loadTools(): Promise<ToolSet> {
  const [{ tool }, { z }] = await Promise.all([import('ai'), import('zod')])
  return {
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
  }
}
