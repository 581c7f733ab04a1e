/** Loops over one handle: each has a cursor of its own. */
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { eventsIn, readLog } from '../support/http.ts'
import { collect } from './collect.ts'

const script = 'text 200'

test('client: two event loops, two text loops and the result, all concurrent, each get everything', async () => {
  const server = await serveNative()
  const run = await createClient({ url: server.url }).runs.start({ component: 'lab', input: script })
  const [first, second, text, again] = await Promise.all([
    collect(run.events()),
    collect(run.events()),
    collect(run.text()),
    collect(run.text()),
    run.result(),
  ])
  const log = eventsIn(await readLog(server, run.id))
  expect(first).toEqual(log)
  expect(second).toEqual(log)
  expect(text).toHaveLength(200)
  expect(again).toEqual(text)
})

test('client: events after text, and text after events, each get everything', async () => {
  const server = await serveNative()
  const client = createClient({ url: server.url })
  const run = await client.runs.start({ component: 'lab', input: script })
  expect(await collect(run.text())).toHaveLength(200)
  expect(await collect(run.events())).toEqual(eventsIn(await readLog(server, run.id)))
  const other = client.runs.open(run.id)
  expect((await collect(other.events())).at(-1)).toMatchObject({ type: 'run.completed' })
  expect(await collect(other.text())).toHaveLength(200)
})

test('client: a second loop of one kind continues where the first ended, whatever loops of the other kind did', async () => {
  const server = await serveNative()
  const run = await createClient({ url: server.url }).runs.start({ component: 'lab', input: script })
  const events = []
  for await (const event of run.events()) if (events.push(event) === 5) break
  const text = run.text()
  await text.next()
  await text.return(undefined)
  expect([...events, ...(await collect(run.events()))]).toEqual(eventsIn(await readLog(server, run.id)))
})
