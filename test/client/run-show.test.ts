/** The state of `useRun`, without a page. */
import { expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { type ClientError, createClient } from '../../src/client/index.ts'
import { TOGETHER_MS } from '../../src/react/event-batches.ts'
import { RunStore } from '../../src/react/run-store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { answerRun, startRun, untilFinished } from '../support/http.ts'
import { until } from '../support/until.ts'
import { serveNative } from '../protocols/native/serve.ts'

/** Shows one run for as long as the test runs. */
function showing(client: ReturnType<typeof createClient>, id: string): RunStore {
  const show = new RunStore(client, { read: () => id, write: () => {}, watch: () => () => {} })
  show.subscribe(() => {})
  return show
}

/** Timers fire in order of their due times, so one that shows collected events has fired before, even on a busy machine. */
function afterCollecting(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2 * TOGETHER_MS))
}

test('useRun: an error right after an event is shown, and stays', async () => {
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
  const show = showing(createClient({ url: server.url, retries: 0, retryDelayMs: 1, fetch: failing }), id)
  await until('there is a problem', () => show.state().problem !== undefined)
  const shown = show.state()
  expect(shown.problem).toMatchObject({ code: 'internal' })
  expect(shown.events.length).toBeGreaterThan(1)
  await afterCollecting() // nothing may be left that takes the problem away
  expect(show.state()).toBe(shown)
})

test('useRun: the state after the last event is there when the loop ends', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3')
  const show = showing(createClient({ url: server.url }), id)
  await until('it completed', () => show.state().status === 'completed')
  expect(show.state()).toMatchObject({ problem: undefined, text: expect.stringContaining('[2]') as string })
})

test('[SUB-2] useRun: a run whose beginning was trimmed is marked as such', async () => {
  const store = createMemoryStore()
  const server = await serveNative({ store })
  const { id } = await startRun(server, 'text 5')
  const { events } = await untilFinished(server, id)
  await store.trim(id, events - 1)
  const show = showing(createClient({ url: server.url }), id)
  await until('it completed', () => show.state().status === 'completed')
  expect(show.state().problem).toMatchObject({ code: 'gap', earliest: events - 1 })
})

test('useRun: an error right after a log change stays', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3')
  await untilFinished(server, id)
  let streams = 0
  // A few events, then another log with a few events, then the word that there will be no more; all within one frame.
  const changing: typeof fetch = async (input, init) => {
    if (++streams === 2)
      return Response.json({ code: 'log_changed', detail: 'another log', retryable: false }, { status: 409 })
    const frames = (await (await fetch(input, init)).text()).split(/(?<=\n\n)/).slice(0, 4)
    const end =
      streams === 1
        ? 'event: stream.closing\ndata: {"reason":"restart","retryMs":0}\n\n'
        : 'event: stream.failed\ndata: {"code":"internal","message":"broken","retryable":false}\n\n'
    return new Response(frames.join('') + end, { headers: { 'content-type': 'text/event-stream' } })
  }
  const show = showing(createClient({ url: server.url, retries: 1, retryDelayMs: 0, fetch: changing }), id)
  await until('it is over', () => show.state().problem?.code === 'internal')
  const shown = show.state()
  await afterCollecting()
  expect(show.state()).toBe(shown)
})

test('useRun: a rejected stop is shown, and stays while events arrive', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3; ask "go?"; text 5')
  const refusing: typeof fetch = (input, init) =>
    (input as string).includes('/stop')
      ? Promise.resolve(Response.json({ code: 'forbidden', detail: 'not yours', retryable: false }, { status: 403 }))
      : fetch(input, init)
  const show = showing(createClient({ url: server.url, fetch: refusing }), id)
  await until('it asks', () => show.state().status === 'paused')
  await show.stop()
  expect(show.state().problem).toMatchObject({ code: 'forbidden', message: 'not yours' })
  await answerRun(server, id, true)
  await until('it completed', () => show.state().status === 'completed')
  expect(show.state().problem).toMatchObject({ code: 'forbidden' })
})

test('useRun: a run started while the view is unmounted and mounted again, as in strict mode, is shown', async () => {
  const server = await serveNative()
  let answer = (): void => {}
  const asked = new Promise<void>((resolve) => (answer = resolve))
  const late: typeof fetch = async (input, init) => {
    if (init?.method === 'POST') await asked
    return fetch(input, init)
  }
  let kept: string | undefined = 'run_before'
  const show = new RunStore(createClient({ url: server.url, fetch: late, retries: 0 }), {
    read: () => kept,
    write: (id) => (kept = id),
    watch: () => () => {},
  })
  const unsubscribe = show.subscribe(() => {})
  const started = show.start({ component: 'lab', input: 'text 3' })
  unsubscribe()
  show.subscribe(() => {})
  expect(show.state().status).toBe('starting')
  answer()
  await started
  await until('it completed', () => show.state().status === 'completed')
  expect(kept).toBe(show.state().id)
})

test('useRun: a run whose start is answered while no view is mounted is shown by the next one', async () => {
  const server = await serveNative()
  const show = new RunStore(createClient({ url: server.url }), undefined)
  const unsubscribe = show.subscribe(() => {})
  const started = show.start({ component: 'lab', input: 'text 3' })
  unsubscribe()
  await started
  expect(show.state()).toMatchObject({ id: expect.stringMatching(/^run_/) as string, status: 'queued' })
  show.subscribe(() => {})
  await until('it completed', () => show.state().status === 'completed')
})

test('useRun: a start that cannot reach the server shows the error at once, while it retries', async () => {
  const server = await serveNative()
  let isDown = true
  const broken: typeof fetch = (input, init) =>
    isDown ? Promise.reject(new TypeError('Failed to fetch')) : fetch(input, init)
  const show = new RunStore(createClient({ url: server.url, fetch: broken, retryDelayMs: 200 }), undefined)
  show.subscribe(() => {})
  const started = show.start({ component: 'lab', input: 'text 3' })
  await until('there is a problem', () => show.state().problem)
  expect(show.state()).toMatchObject({ status: 'starting', problem: { code: 'connection', retrying: true } })
  isDown = false
  await started
  await until('it completed', () => show.state().status === 'completed')
  expect(show.state().problem).toBeUndefined()
})

test('useRun: a stream error is shown at once and cleared on reconnect, although the run emits nothing', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3; ask "go?"')
  let cut = (): void => {}
  let isDown = false
  const breaking: typeof fetch = async (input, init) => {
    if (isDown) throw new TypeError('Failed to fetch')
    const cutter = new AbortController()
    cut = () => cutter.abort(new TypeError('network error'))
    return fetch(input, { ...init, signal: AbortSignal.any([init!.signal!, cutter.signal]) })
  }
  const show = showing(createClient({ url: server.url, fetch: breaking, retryDelayMs: 100 }), id)
  await until('it asks', () => show.state().status === 'paused')
  expect(show.state().problem).toBeUndefined()
  isDown = true
  cut()
  const problem = await until<ClientError>('there is a problem', () => show.state().problem)
  expect(problem).toMatchObject({ code: 'connection', retrying: true, run: id })
  expect(show.state().status).toBe('paused')
  isDown = false
  await until('it is well again', () => show.state().problem === undefined)
  await answerRun(server, id, true)
  await until('it completed', () => show.state().status === 'completed')
})

test('useRun: a final error is shown, and nothing is retried', async () => {
  const broken: typeof fetch = () => Promise.reject(new TypeError('Failed to fetch'))
  const show = showing(createClient({ url: 'http://127.0.0.1:1', fetch: broken, retries: 2, retryDelayMs: 1 }), 'run_1')
  await until('it is given up', () => show.state().problem?.retrying === false)
  expect(show.state().problem).toMatchObject({ code: 'connection', retryable: true })
})

test('useRun: a run with several questions is answered', async () => {
  const twice = agent<unknown>({
    id: 'twice',
    run: async function* (_, { ask }) {
      const [first, second] = await Promise.all([ask('First?'), ask('Second?')])
      yield `${String(first)} and ${String(second)}`
    },
  })
  const server = await serveNative({ components: [twice] })
  const client = createClient({ url: server.url })
  const { id } = await client.runs.start({ component: 'twice', input: '' })
  const show = showing(client, id)
  await until('it asks', () => show.state().questions.length === 2)
  const entries = show.state().questions.map(({ id: question, prompt }) => [question, prompt.toLowerCase()])
  await show.answer({ answers: Object.fromEntries(entries) as Record<string, unknown> })
  await until('it has ended', () => show.state().status === 'completed')
  expect(show.state()).toMatchObject({ text: 'first? and second?', problem: undefined })
})
