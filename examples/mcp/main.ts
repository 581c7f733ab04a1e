/**
 * An agent with the tools of an MCP server. The run starts the server, calls its tool, and ends it.
 * The model is scripted and needs no key; use any AI SDK model in its place.
 *
 * Run it: node --conditions=holdfast-source examples/mcp/main.ts
 * Expect: the call of the tool, and an output that contains the tool's result.
 */
import { fileURLToPath } from 'node:url'
import { agent, createServer, createMemoryStore } from 'holdfast'
import { mcp, scriptedModel } from 'holdfast/ai'
import { createClient } from 'holdfast/client'

const pilot = agent({
  id: 'pilot',
  tools: mcp({ tides: { command: process.execPath, args: [fileURLToPath(new URL('server.ts', import.meta.url))] } }),
  model: scriptedModel({
    script: ({ turn, text, results }) =>
      turn === 1
        ? [{ type: 'tool', name: 'high_water', input: { harbour: text } }]
        : `High water: ${(results[0]!.output as { text: string }[])[0]!.text}`,
  }),
})

const server = await createServer({ components: [pilot], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'pilot', input: 'Kirkwall' })
for await (const event of run.events()) {
  if (event.type === 'tool.called') console.log('called', event.data.name, event.data.input)
}
console.log(await run.result())
await server.close()
