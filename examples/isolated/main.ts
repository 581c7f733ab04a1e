/** A component in threads of its own: a run that blocks its thread delays no other run, and a stop ends it. */
import { equal } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer, isolated, openMemoryStore } from 'holdfast'

const matcher = await isolated(new URL('./regex.ts', import.meta.url), { memoryMb: 64, threadsMax: 4 })
const server = await createServer({ components: [matcher], store: openMemoryStore() })

interface Run {
  readonly id: string
  readonly status: string
  readonly output?: unknown
}

async function post(path: string, body?: object): Promise<Run> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return (await response.json()) as Run
}

async function ended(id: string): Promise<Run> {
  for (let look = 0; look < 1000; look++) {
    const run = (await (await fetch(`${server.url}/runs/${id}`)).json()) as Run
    if (!['queued', 'running'].includes(run.status)) return run
    await sleep(25)
  }
  throw new Error(`run ${id} did not end`)
}

try {
  const text = `${'a'.repeat(64)}!`
  const blocked = await post('/runs', { component: 'matcher', input: { pattern: '^(a+)+$', text } })
  const quick = await post('/runs', { component: 'matcher', input: { pattern: 'a!$', text } })
  equal((await ended(quick.id)).output, true)
  equal((await fetch(`${server.url}/health`)).status, 200)
  await post(`/runs/${blocked.id}/stop`)
  equal((await ended(blocked.id)).status, 'cancelled')
} finally {
  await server.stop()
}
process.stdout.write('isolated: one run was stuck, and no other noticed\n')
