/** Serves the agents of this folder in this process, starts a run and reads its log to the end. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { createServer, openMemoryStore } from 'holdfast'
import { counter } from './agents.ts'

const server = await createServer({ components: [counter], store: openMemoryStore() })
try {
  const started = await fetch(`${server.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ component: 'counter', input: 'Sheep' }),
  })
  equal(started.status, 202)
  const events = `${server.url}${started.headers.get('location')}/events`
  // A stream of JSON lines that ends when the run does.
  const lines = (await (await fetch(`${events}?format=ndjson`)).text()).split('\n').filter((line) => line !== '')
  const log = lines.map((line) => JSON.parse(line) as { index: number; type: string; data: { text?: string } })
  deepEqual(
    log.map(({ index }) => index),
    [...log.keys()],
  )
  equal(log.at(-1)?.type, 'run.completed')
  ok(log.some(({ data }) => data.text?.startsWith('Sheep 50 of ')))
} finally {
  await server.stop()
}
process.stdout.write('hello: a run from start to end\n')
