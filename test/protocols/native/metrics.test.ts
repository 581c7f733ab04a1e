/** `GET /metrics`: its format, and figures of runs, streams and upstreams. */
import { expect, test } from 'vitest'
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import { upstream } from '../../../src/agents/upstream/upstream.ts'
import { MetricsText } from '../../../src/http/response/metrics-text.ts'
import { createKey } from '../../../src/server/auth/api-keys.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { startChatServer } from '../../gateway/chat-server.ts'
import { followRun, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { parseMetrics } from '../../support/parse-metrics.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'

async function metricsOf({ url }: { readonly url: string }, path = '/metrics'): Promise<Map<string, number>> {
  const response = await fetch(url + path)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return parseMetrics(await response.text())
}

test.each([
  'a 1',
  '# HELP a A.\na 1',
  '# HELP a A.\n# TYPE a gauge\na{b=c} 1\n',
  '# HELP a A.\n# TYPE a gauge\nb 1\n',
  '# HELP a A.\n# TYPE a gauge\na x\n',
])('metrics: the reader of these tests refuses %j', (text) =>
  expect(() => parseMetrics(text)).toThrow(/not a|not labels|no end/),
)

test('metrics: labels are escaped', () => {
  const text = new MetricsText()
  text.gauge('a', 'A.', [{ labels: { name: 'say "\\n"\n', other: 'b' }, value: 1.5 }])
  text.gauge('none', 'Has no values.', [])
  expect(text.toString()).toBe('# HELP a A.\n# TYPE a gauge\na{name="say \\"\\\\n\\"\\n",other="b"} 1.5\n')
  expect(parseMetrics(text.toString())).toEqual(new Map([['a{name=say \\"\\\\n\\"\\n,other=b}', 1.5]]))
})

test('metrics: runs by state, the queue, ended runs and open streams', async () => {
  const server = await serveInProcess({ store: createMemoryStore(), limits: { maxConcurrentRuns: 1 } })
  await untilFinished(server, (await startRun(server, 'text 1')).id)
  await untilFinished(server, (await startRun(server, 'throw boom')).id)
  const { id } = await startRun(server, 'hang')
  await untilStatus(server, id, ['running'])
  await startRun(server, 'text 1')
  const stream = followRun(server, id)
  await stream.status()
  const values = await metricsOf(server)
  expect(Object.fromEntries(values)).toMatchObject({
    holdfast_store_up: 1,
    holdfast_draining: 0,
    'holdfast_runs{state=running}': 1,
    'holdfast_runs{state=sleeping}': 0,
    holdfast_runs_limit: 1,
    holdfast_queued_runs: 1,
    holdfast_attempts_total: 3,
    'holdfast_ended_runs_total{status=completed}': 1,
    'holdfast_ended_runs_total{status=failed}': 1,
    'holdfast_ended_runs_total{status=cancelled}': 0,
    'holdfast_takeovers_total{outcome=recovered}': 0,
    holdfast_streams: 1,
    holdfast_subscribers: 1,
  })
  for (const name of [
    'holdfast_event_loop_delay_seconds',
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
  ])
    expect(values.has(name), name).toBe(true)
  expect([...(await metricsOf(server, '/admin/metrics')).keys()]).toEqual([...values.keys()])
})

test('metrics: a store that fails is down, and its queue is left out', async () => {
  const store = createMemoryStore()
  const server = await serveInProcess({ store })
  store.queued = () => Promise.reject(new Error('gone'))
  store.health = () => ({ ok: false, reason: 'gone' })
  const values = await metricsOf(server)
  expect(values.get('holdfast_store_up')).toBe(0)
  expect(values.has('holdfast_queued_runs')).toBe(false)
})

test('metrics: upstreams with their status, circuit, queue and counts', async () => {
  const waiting: (() => void)[] = []
  const chat = await startChatServer({
    m: (response) => void waiting.push(() => response.writeHead(500).end()),
  })
  const options = {
    models: ['m'],
    name: 'gpu',
    maxConcurrentRuns: 1,
    circuitBreaker: { failureThreshold: 1, resetTimeoutMs: 60_000 },
  }
  const components = [upstream.openai(chat.url, options), ...labComponents()]
  const server = await serveInProcess({ store: createMemoryStore(), components })
  const [first, second] = [
    await startRun(server, 'go', { component: 'm' }),
    await startRun(server, 'go', { component: 'm' }),
  ]
  await until('one is asked', () => waiting.length === 1)
  await until('one waits', () => server.service.health().upstreams![0]!.load!.queued === 1)
  expect(Object.fromEntries(await metricsOf(server))).toMatchObject({
    'holdfast_upstream_status{upstream=gpu,status=ok}': 1,
    'holdfast_upstream_status{upstream=gpu,status=unreachable}': 0,
    'holdfast_upstream_components{upstream=gpu}': 1,
    'holdfast_upstream_circuit{upstream=gpu,replica=0,state=closed}': 1,
    'holdfast_upstream_circuit{upstream=gpu,replica=0,state=open}': 0,
    'holdfast_upstream_runs{upstream=gpu}': 1,
    'holdfast_upstream_runs_limit{upstream=gpu}': 1,
    'holdfast_upstream_queued_runs{upstream=gpu}': 1,
  })
  waiting.shift()!()
  await untilFinished(server, first.id)
  await untilFinished(server, second.id)
  expect(Object.fromEntries(await metricsOf(server))).toMatchObject({
    'holdfast_upstream_circuit{upstream=gpu,replica=0,state=open}': 1,
    'holdfast_upstream_circuit{upstream=gpu,replica=0,state=closed}': 0,
    'holdfast_upstream_queued_runs{upstream=gpu}': 0,
    'holdfast_ended_runs_total{status=failed}': 2,
  })
})

test('metrics: only administrators get them', async () => {
  const keys = `${temporaryFolder()}/keys.json`
  const { key: user } = await createKey(keys, { name: 'user' })
  const { key: admin } = await createKey(keys, { name: 'admin', scopes: ['admin'] })
  const { url } = await serveInProcess({ store: createMemoryStore(), auth: { keys } })
  const statuses = [undefined, user, admin].map(
    async (key) =>
      (await fetch(`${url}/metrics`, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })).status,
  )
  expect(await Promise.all(statuses)).toEqual([401, 403, 200])
})
