/** docs/protocols/durable-streams.md agrees with the code. */
import { expect, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { call } from '../../support/http.ts'
import { blocksOf, runProgram } from '../../support/doc-programs.ts'
import { serveChats } from '../ai-sdk/serve.ts'

test('the program of docs/protocols/durable-streams.md runs', async () => {
  const server = await serveChats()
  const body = { component: 'lab', input: 'text 1' }
  const { id } = (await call<{ id: string }>(server, 'POST', '/runs', { body })).body
  await expect.poll(async () => (await server.service.get(localPrincipal, id)).run.status).toBe('completed')
  const [program = ''] = blocksOf('docs/protocols/durable-streams.md', 'ts')
  const runnable = program
    .replaceAll('http://localhost:7777', server.url)
    .replaceAll('@durable-streams/client', import.meta.resolve('@durable-streams/client'))
  const printed = await runProgram(`const run = '${id}'\n${runnable}\nawait events.closed`)
  expect(printed).toContain("'run.completed'")
  expect(await (await fetch(`${server.url}/v1/stream/notes/today`)).json()).toEqual([{ text: 'High water at 14:20' }])
})

test('the program about subscriptions of docs/protocols/durable-streams.md runs', async () => {
  const server = await serveChats()
  const [, program = ''] = blocksOf('docs/protocols/durable-streams.md', 'ts')
  const printed = await runProgram(program.replaceAll('http://localhost:7777', server.url))
  expect(printed).toBe('orders/1 [ { total: 12 } ]\n{ ok: true, next_wake: false }\n')
})
