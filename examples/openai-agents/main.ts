/**
 * An agent of the OpenAI Agents SDK hands over to another one. Each of them is a step in the log.
 *
 * Run it: node --conditions=holdfast-source examples/openai-agents/main.ts
 * Expect: the two agents in their order, the output, and the tokens that both used.
 */
import { Agent, Runner } from '@openai/agents'
import { createServer, createMemoryStore } from 'holdfast'
import { openAiAgent } from 'holdfast/adapters'
import { createClient } from 'holdfast/client'
import { scripted } from './model.ts'

// Leave `model` out to use OpenAI's, with OPENAI_API_KEY.
const biologist = new Agent({ name: 'Biologist', model: scripted({ text: 'Kelp is an alga.' }) })
const desk = Agent.create({ name: 'Desk', model: scripted({ call: 'transfer_to_Biologist' }), handoffs: [biologist] })
const component = openAiAgent({ id: 'desk', agent: desk, runner: new Runner({ tracingDisabled: true }) })

const server = await createServer({ components: [component], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'desk', input: 'What is kelp?' })
for await (const event of run.events()) {
  if (event.type === 'step.started' && event.data.key === undefined) console.log('agent:', event.data.name)
  if (event.type === 'run.completed') console.log(event.data.output, event.data.usage)
}
await server.close()
