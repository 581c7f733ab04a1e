/** An agent with tools: one runs by itself, one waits for somebody's yes. The model here is scripted; any AI SDK model will do. */
import { deepEqual, equal } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { tool } from 'ai'
import { createServer, openMemoryStore } from 'holdfast'
import { agent, scriptedModel } from 'holdfast/ai'
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

interface Run {
  readonly id: string
  readonly status: string
  readonly output?: unknown
  readonly waiting?: readonly {
    readonly id: string
    readonly kind: string
    readonly details: { readonly tool: string }
  }[]
}

const server = await createServer({ components: [clerk], store: openMemoryStore() })

async function post(path: string, body: object): Promise<Run> {
  const headers = { 'content-type': 'application/json' }
  return (await (await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Run
}

async function reached(id: string, status: string): Promise<Run> {
  for (let look = 0; look < 200; look++) {
    const run = (await (await fetch(`${server.url}/runs/${id}`)).json()) as Run
    if (run.status === status) return run
    await sleep(25)
  }
  throw new Error(`run ${id} did not come to ${status}`)
}

try {
  const { id } = await post('/runs', { component: 'clerk', input: 'Send 25 to Ada' })
  const paused = await reached(id, 'paused')
  deepEqual(
    paused.waiting?.map(({ kind, details }) => [kind, details.tool]),
    [['approval', 'send']],
  )
  deepEqual(sent, [])
  await post(`/runs/${id}/answers`, { answer: true })
  equal((await reached(id, 'completed')).output, 'Done.')
  deepEqual(sent, [25])
} finally {
  await server.stop()
}
process.stdout.write('approval: money was sent once, after somebody said yes\n')
