/**
 * AG-UI's own client: loses its connection, attaches to the same run, and approves a tool call. A CopilotKit page does the same.
 * The model is scripted and needs no key; use any AI SDK model in its place.
 *
 * Run it: node --conditions=holdfast-source examples/ag-ui/main.ts
 * Expect: nothing is missing or doubled, and the approval continues the run.
 */
import { isDeepStrictEqual } from 'node:util'
import { tool } from 'ai'
import { agent, createServer, createMemoryStore } from 'holdfast'
import { HoldfastAgent } from 'holdfast/ag-ui'
import { scriptedModel } from 'holdfast/ai'
import { createClient } from 'holdfast/client'
import { z } from 'zod'

const bank = agent({
  id: 'bank',
  tools: {
    send: tool({ inputSchema: z.object({ amount: z.number() }), needsApproval: true, execute: ({ amount }) => amount }),
  },
  model: scriptedModel({
    script: ({ results }) =>
      results.length === 0
        ? ['I will send it. ', { type: 'tool', name: 'send', input: { amount: 25 } }]
        : 'It is sent.',
  }),
})

const server = await createServer({ components: [bank], store: createMemoryStore() })
const page = new HoldfastAgent({ url: `${server.url}/ag-ui/bank`, threadId: 't1' })
page.addMessage({ id: 'u1', role: 'user', content: 'Send 25 to Ada' })

const lost = page.runAgent({ runId: 'r1' })
page.abortRun() // the page is closed; the run continues
await lost

await page.runAgent({ runId: 'r1' }) // the same run
console.log(page.messages.map(({ role }) => role).join(', '))
console.log(page.pendingInterrupts.map(({ message }) => message).join())

const resume = page.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'resolved' as const, payload: true }))
await page.runAgent({ resume })
console.log(page.messages.at(-1)?.content)

// Another page has nothing, and shows the same.
const other = new HoldfastAgent({ url: `${server.url}/ag-ui/bank`, threadId: 't1' })
await other.connectAgent()
console.log(isDeepStrictEqual(other.messages, page.messages))

// The thread is a session, and its run is one like any other.
const { runs } = await createClient({ url: server.url }).sessions.runs('t1')
console.log(runs.map(({ component, status }) => `${component}: ${status}`).join())
await server.close()
