/** `GET /metrics`: Prometheus metrics of this node, collected on request. */
import { requirePermission } from '../../../core/access/scopes.ts'
import type { SourceHealth } from '../../../core/ports/component-source.ts'
import type { Service, ServiceHealth } from '../../../core/service.ts'
import { METRICS_TYPE, MetricsText, type Sample } from '../../../http/response/metrics-text.ts'
import { respondText } from '../../../http/response/respond.ts'
import type { Streams } from '../../../http/response/stream.ts'
import type { Call } from '../../../http/routing/route.ts'

export async function serveMetrics(call: Call, service: Service, streams: Streams, version: string): Promise<void> {
  requirePermission(call.principal, 'admin')
  const health = service.health()
  const text = new MetricsText()
  text.gauge('holdfast_info', 'Always 1; its label is the version.', [{ labels: { version }, value: 1 }])
  addNode(text, health)
  addRuns(text, service, await service.queueLength())
  addStreams(text, service, streams)
  addUpstreams(text, health.upstreams ?? [])
  addProcess(text)
  respondText(call.response, 200, METRICS_TYPE, text.toString())
}

function addNode(text: MetricsText, { store, draining, eventLoop }: ServiceHealth): void {
  text.gauge('holdfast_store_up', '1 if the last access to the store succeeded.', Number(store.ok))
  text.gauge('holdfast_store_alarms', 'Problems of the store although it works.', store.alarms?.length ?? 0)
  text.gauge('holdfast_draining', '1 while the node drains.', Number(draining))
  if (eventLoop === undefined) return
  text.gauge(
    'holdfast_event_loop_delay_seconds',
    'Longest timer delay of the last 10 to 20 seconds.',
    eventLoop.delayMs / 1000,
  )
  text.counter('holdfast_event_loop_blocks_total', 'Times that the event loop was blocked.', eventLoop.blocks)
}

function addRuns(text: MetricsText, service: Service, queued: number | undefined): void {
  const { running, sleeping, recovered, failed, attempts, ended } = service.load()
  text.gauge('holdfast_runs', 'Unfinished runs that this node executes.', byLabel('state', { running, sleeping }))
  text.gauge(
    'holdfast_runs_limit',
    'Runs that this node executes at once (--max-runs).',
    service.limits.maxConcurrentRuns,
  )
  if (queued !== undefined) text.gauge('holdfast_queued_runs', 'Queued runs of all nodes of the store.', queued)
  text.gauge('holdfast_queued_runs_limit', 'Queued runs beyond which starts are refused.', service.limits.maxQueuedRuns)
  text.counter('holdfast_attempts_total', 'Attempts that this node started.', attempts)
  text.counter('holdfast_ended_runs_total', 'Runs that this node ended.', byLabel('status', ended))
  text.counter(
    'holdfast_takeovers_total',
    'Runs of dead workers that this node recovered, or had to fail.',
    byLabel('outcome', { recovered, failed }),
  )
}

function addStreams(text: MetricsText, service: Service, streams: Streams): void {
  const { subscribers, lag } = service.load()
  text.gauge('holdfast_streams', 'Open event streams over HTTP.', streams.size)
  text.gauge('holdfast_subscribers', 'Open subscriptions of logs, of all protocols.', subscribers)
  text.gauge('holdfast_subscriber_lag_events', 'Events by which the slowest subscriber is behind.', lag)
}

const STATUSES: readonly SourceHealth['status'][] = ['unknown', 'ok', 'unreachable', 'conflict']
const CIRCUITS = ['closed', 'open', 'half-open'] as const

function addUpstreams(text: MetricsText, upstreams: readonly SourceHealth[]): void {
  const each = (valueOf: (upstream: SourceHealth) => number | undefined): Sample[] =>
    upstreams.flatMap((upstream) => {
      const value = valueOf(upstream)
      return value === undefined ? [] : [{ labels: { upstream: upstream.name }, value }]
    })
  const states = upstreams.flatMap(({ name, status }) =>
    STATUSES.map((one) => ({ labels: { upstream: name, status: one }, value: Number(one === status) })),
  )
  const circuits = upstreams.flatMap(({ name, load }) =>
    (load?.circuits ?? []).flatMap((state, replica) =>
      CIRCUITS.map((one) => ({
        labels: { upstream: name, replica: String(replica), state: one },
        value: Number(one === state),
      })),
    ),
  )
  text.gauge('holdfast_upstream_status', '1 for the status that the last discovery had.', states)
  text.gauge(
    'holdfast_upstream_components',
    'Components that it serves here.',
    each(({ components }) => components),
  )
  text.gauge('holdfast_upstream_circuit', '1 for the state of the circuit breaker of a replica.', circuits)
  text.gauge(
    'holdfast_upstream_runs',
    'Runs that it works on for this node.',
    each(({ load }) => load?.running),
  )
  text.gauge(
    'holdfast_upstream_runs_limit',
    'Its concurrency, if limited.',
    each(({ load }) => load?.concurrency),
  )
  text.gauge(
    'holdfast_upstream_queued_runs',
    'Runs that wait for one of its slots.',
    each(({ load }) => load?.queued),
  )
  text.counter(
    'holdfast_upstream_refused_total',
    'Runs refused because of its load.',
    each(({ load }) => load?.refused),
  )
  text.counter(
    'holdfast_upstream_retried_total',
    'Requests repeated.',
    each(({ load }) => load?.retried),
  )
  text.counter(
    'holdfast_upstream_failed_over_total',
    'Requests that went to another replica.',
    each(({ load }) => load?.failedOver),
  )
}

function addProcess(text: MetricsText): void {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  text.counter('process_cpu_seconds_total', 'CPU time of the process.', (user + system) / 1e6)
  text.gauge('process_resident_memory_bytes', 'Resident memory of the process.', rss)
  text.gauge('process_start_time_seconds', 'Start of the process, since 1970.', performance.timeOrigin / 1000)
  text.gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', heapUsed)
}

function byLabel(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))
}
