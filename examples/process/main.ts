/** A program in Python as an agent: what it writes is the run's log, and what it asks is asked of whoever watches. */
import { deepEqual, equal } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createServer, openMemoryStore } from 'holdfast'
import { processAgent } from 'holdfast/adapters'

const program = fileURLToPath(new URL('./agent.py', import.meta.url))
const biologist = processAgent({ id: 'biologist', command: 'python3', args: [program] })

interface Run {
  readonly id: string
  readonly status: string
  readonly output?: unknown
  readonly waiting?: readonly { readonly prompt: string }[]
}

const server = await createServer({ components: [biologist], store: openMemoryStore() })

async function post(path: string, body: object): Promise<Run> {
  const headers = { 'content-type': 'application/json' }
  return (await (await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Run
}

async function reached(id: string, status: string): Promise<Run> {
  for (let look = 0; look < 1000; look++) {
    const run = (await (await fetch(`${server.url}/runs/${id}`)).json()) as Run
    if (run.status === status) return run
    await sleep(25)
  }
  throw new Error(`run ${id} did not come to ${status}`)
}

try {
  const { id } = await post('/runs', { component: 'biologist', input: 'kelp' })
  equal((await reached(id, 'paused')).waiting?.[0]?.prompt, 'How deep do you want to go?')
  await post(`/runs/${id}/answers`, { answer: 12 })
  deepEqual((await reached(id, 'completed')).output, { word: 'kelp', depth: 12 })
} finally {
  await server.stop()
}
process.stdout.write('process: a program in Python asked, and answered\n')
