/**
 * Serves an agent in this process, starts a run and prints its events as they arrive.
 *
 * Run it: node --conditions=holdfast-source examples/hello/main.ts
 * Expect: about ten seconds of events, numbered from 0, from run.created to run.completed.
 */
import { createServer, createMemoryStore } from 'holdfast'
import { createClient } from 'holdfast/client'
import { counter } from './agents.ts'

const server = await createServer({ components: [counter], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'counter', input: 'Sheep' })
for await (const event of run.events()) {
  const text = event.type === 'text.delta' ? event.data.text.trimEnd() : ''
  console.log(event.index, event.type, text)
}
await server.close()
