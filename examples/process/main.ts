/**
 * A Python program as an agent: it writes events as JSON lines, and asks its questions through the run.
 *
 * Run it: node --conditions=holdfast-source examples/process/main.ts
 * Expect: what agent.py writes, its tool call, its question, and what it returns.
 */
import { fileURLToPath } from 'node:url'
import { createServer, createMemoryStore } from 'holdfast'
import { processAgent } from 'holdfast/adapters'
import { createClient } from 'holdfast/client'

const program = fileURLToPath(new URL('./agent.py', import.meta.url))
const biologist = processAgent({ id: 'biologist', command: 'python3', args: [program] })

const server = await createServer({ components: [biologist], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'biologist', input: 'kelp' })
for await (const event of run.events()) {
  if (event.type === 'text.delta') console.log(event.data.text)
  if (event.type === 'tool.completed') console.log(event.data.name, 'returned', event.data.output)
  if (event.type !== 'run.paused') continue
  for (const { prompt } of event.data.questions) console.log(prompt)
  await run.answer({ answer: 12 })
}
console.log(await run.result())
await server.close()
