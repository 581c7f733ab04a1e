/**
 * Serves an agent object of the AI SDK as it is: its tool calls and its output are in the log.
 * The model is scripted and needs no key; use any AI SDK model in its place.
 *
 * Run it: node --conditions=holdfast-source examples/ai-agent/main.ts
 * Expect: a call of the tool, its result, and the agent's output.
 */
import { tool, ToolLoopAgent } from 'ai'
import { createServer, createMemoryStore } from 'holdfast'
import { aiAgent } from 'holdfast/adapters'
import { scriptedModel } from 'holdfast/ai'
import { createClient } from 'holdfast/client'
import { z } from 'zod'

const agent = new ToolLoopAgent({
  model: scriptedModel({
    script: ({ results }) =>
      results.length === 0
        ? [{ type: 'tool', name: 'depth', input: { place: 'the kelp forest' } }]
        : `It is ${String(results[0]!.output)} metres deep.`,
  }),
  tools: { depth: tool({ inputSchema: z.object({ place: z.string() }), execute: () => 12 }) },
})

const server = await createServer({ components: [aiAgent({ id: 'diver', agent })], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'diver', input: 'How deep is it?' })
for await (const event of run.events()) {
  if (event.type === 'tool.called') console.log('called', event.data.name, event.data.input)
  if (event.type === 'tool.completed') console.log('result', event.data.output)
}
console.log(await run.result())
await server.close()
