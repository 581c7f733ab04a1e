/** Runs whose source is a stream in this process: they execute here immediately, or fail. */
import type { RunHandle } from '../client/run.ts'
import { RunFailure } from '../core/execution/run-failure.ts'
import { defaultLimits } from '../core/model/limits.ts'
import type { Component } from '../core/ports/component.ts'
import { type Holdfast, holdfast } from './holdfast.ts'
import type { HoldfastOptions } from './options.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const SOURCES = Symbol.for('holdfast.local-streams')

/** Sources that no run has taken yet. Stored outside of this module, because bundlers and development servers load it more than once. */
export function localSources<Source>(component: string): Map<string, Source> {
  const shared = globalThis as { [SOURCES]?: Map<string, Map<string, Source>> }
  const all = (shared[SOURCES] ??= new Map())
  let sources = all.get(component)
  if (sources === undefined) all.set(component, (sources = new Map()))
  return sources
}

/** Clients of an instance may start its runs with any input: then there is no source. */
export function takeSource<Source>(sources: Map<string, Source>, key: unknown): Source {
  const source = typeof key === 'string' ? sources.get(key) : undefined
  if (source === undefined)
    throw new RunFailure('interrupted', 'the process that has the source of the stream did not execute its run')
  sources.delete(key as string)
  return source
}

/** An instance for the streams of one component. Retention: one day. */
export function streamInstance(component: Component, store: NonNullable<HoldfastOptions['store']>): Holdfast {
  return holdfast({
    components: [component],
    store,
    // A source cannot be moved, so a run executes here immediately or not at all.
    limits: { maxRunsPerPrincipal: defaultLimits.maxConcurrentRuns, maxQueuedRuns: 0 },
    retention: { runs: { components: { [component.id]: DAY_MS } } },
  })
}

/** Never rejects. Only the last event is delivered. */
export async function untilEnded(run: RunHandle, signal: AbortSignal): Promise<void> {
  try {
    const events = run.events({ types: ['run.completed'], signal })[Symbol.asyncIterator]()
    while ((await events.next()).done !== true);
  } catch {
    // Readers get the error.
  }
}
