/**
 * A team: the leader delegates to its members and combines what they return. One log holds the output of each, with its author.
 * The models are scripted and need no key; use any AI SDK model in their place.
 *
 * Run it: node --conditions=holdfast-source examples/team/main.ts
 * Expect: what each member says, then the output of the team.
 */
import { agent, createServer, createMemoryStore } from 'holdfast'
import { scriptedModel, team } from 'holdfast/ai'
import { createClient } from 'holdfast/client'

const reporter = (id: string) => agent({ id, model: scriptedModel({ script: ({ text }) => `${id} on ${text}.` }) })

const newsroom = team({
  id: 'newsroom',
  mode: 'coordinate',
  members: [reporter('harbour'), reporter('weather')],
  model: scriptedModel({
    script: ({ turn, text, results }) =>
      turn === 1
        ? ['harbour', 'weather'].map((member) => ({
            type: 'tool',
            name: 'delegate_task_to_member',
            input: { member, task: text },
          }))
        : results.map(({ output }) => String(output)).join(' '),
  }),
})

const server = await createServer({ components: [newsroom], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'newsroom', input: 'the kelp' })
const said: Record<string, string> = {}
for await (const event of run.events()) {
  const author = event.actor?.component ?? 'newsroom'
  if (event.type === 'text.delta') said[author] = (said[author] ?? '') + event.data.text
}
console.log(said)
console.log(await run.result())
await server.close()
