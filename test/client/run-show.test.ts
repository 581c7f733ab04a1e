/** What `useRun` shows, without a page around it. */
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { RunShow } from '../../src/react/run-show.ts'
import { openMemoryStore } from '../../src/stores/memory.ts'
import { startRun, untilFinished } from '../support/http.ts'
import { until } from '../support/until.ts'
import { serveNative } from '../protocols/native/serve.ts'

/** Shows one run for as long as the test runs. */
function showing(client: ReturnType<typeof createClient>, id: string): RunShow {
  const show = new RunShow(client, { read: () => id, write: () => {}, watch: () => () => {} })
  show.subscribe(() => {})
  return show
}

test('useRun: an error right behind an event is shown, and stays', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3')
  await untilFinished(server, id)
  // Some events and, in the same moment, the word that there will be no more.
  const failing: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    const frames = (await response.text()).split(/(?<=\n\n)/).slice(0, 5)
    const failed = 'event: stream.failed\ndata: {"code":"internal","message":"broken","retryable":false}\n\n'
    return new Response(frames.join('') + failed, response)
  }
  const show = showing(createClient({ url: server.url, retries: 0, retryMs: 1, fetch: failing }), id)
  await until('there is a problem', () => show.state().problem !== undefined)
  const shown = show.state()
  expect(shown.problem).toMatchObject({ code: 'internal' })
  expect(shown.events.length).toBeGreaterThan(1)
  // Longer than events are collected for: nothing may be left that takes the problem away.
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(show.state()).toBe(shown)
})

test('useRun: the state after the last event is there when the loop ends', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3')
  const show = showing(createClient({ url: server.url }), id)
  await until('it completed', () => show.state().status === 'completed')
  expect(show.state()).toMatchObject({ problem: undefined, text: expect.stringContaining('[2]') as string })
})

test('[SUB-2] useRun: a run whose beginning was trimmed says so', async () => {
  const store = openMemoryStore()
  const server = await serveNative({ store })
  const { id } = await startRun(server, 'text 5')
  const { events } = await untilFinished(server, id)
  await store.trim(id, events - 1)
  const show = showing(createClient({ url: server.url }), id)
  await until('it completed', () => show.state().status === 'completed')
  expect(show.state().problem).toMatchObject({ code: 'gap', earliest: events - 1 })
})
