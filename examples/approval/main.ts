/**
 * An agent with two tools: one runs by itself, the other waits for an approval.
 * The model is scripted and needs no key; use any AI SDK model in its place.
 *
 * Run it: node --conditions=holdfast-source examples/approval/main.ts
 * Expect: the run pauses before the transfer, and sends the money once after the approval.
 */
import { tool } from 'ai'
import { agent, createServer, createMemoryStore } from 'holdfast'
import { scriptedModel } from 'holdfast/ai'
import { createClient } from 'holdfast/client'
import { z } from 'zod'

const sent: number[] = []

const clerk = agent({
  id: 'clerk',
  model: scriptedModel({
    script({ turn }) {
      if (turn === 1) return [{ type: 'tool', name: 'balance', input: {} }]
      if (turn === 2) return [{ type: 'tool', name: 'send', input: { amount: 25 } }]
      return 'Done.'
    },
  }),
  tools: {
    balance: tool({ inputSchema: z.object({}), execute: () => 120 }),
    send: tool({
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: true,
      execute: ({ amount }) => sent.push(amount),
    }),
  },
})

const server = await createServer({ components: [clerk], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'clerk', input: 'Send 25 to Ada' })
for await (const event of run.events()) {
  if (event.type === 'tool.completed') console.log('result of', event.data.name)
  if (event.type !== 'run.paused') continue
  for (const { kind, prompt, details } of event.data.questions) console.log(kind, prompt, details)
  console.log('sent so far', sent)
  await run.answer({ answer: true })
}
console.log(await run.result())
console.log('sent', sent)
await server.close()
