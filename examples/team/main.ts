/** A team: the leader gives its members tasks and answers with what they found. What each says is in one log, under its name. */
import { equal, ok } from 'node:assert/strict'
import { createServer, openMemoryStore } from 'holdfast'
import { agent, scriptedModel, team } from 'holdfast/ai'

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

const server = await createServer({ components: [newsroom], store: openMemoryStore() })
try {
  const response = await fetch(`${server.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ component: 'newsroom', input: 'the kelp' }),
  })
  const { id } = (await response.json()) as { id: string }
  const lines = (await (await fetch(`${server.url}/runs/${id}/events?format=ndjson`)).text()).split('\n')
  const log = lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Logged]))
  ok(log.some(({ type, actor }) => type === 'text.delta' && actor?.component === 'harbour'))
  const last = log.at(-1)!
  equal(last.type, 'run.completed')
  equal(last.data.output, 'harbour on the kelp. weather on the kelp.')
} finally {
  await server.stop()
}
process.stdout.write('team: two members and one answer\n')

interface Logged {
  readonly type: string
  readonly actor?: { readonly component: string }
  readonly data: { readonly output?: unknown }
}
