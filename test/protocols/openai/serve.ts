/** A server for one test of this protocol: the lab, agents on scripted models, and bounds that are reached quickly. */
import type { Run } from '../../../src/core/model/run.ts'
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import type { Limits } from '../../../src/core/model/limits.ts'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import type { Server } from '../../../src/server/create-server.ts'
import type { EngineOptions } from '../../../src/server/engine-options.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { until } from '../../support/until.ts'
import { forecaster, forecasters, hurried } from './components.ts'

/** Short timeouts, so that tests need not wait. */
const quickLimits: Partial<Limits> = { retryDelayMs: 20, longPollTimeoutMs: 10_000, stopGraceMs: 50, drainTimeoutMs: 0 }

export interface OpenAiServer extends Server {
  /** For `baseURL`. */
  readonly base: string
}

export async function serveOpenAi({ components = [], ...options }: Partial<EngineOptions> = {}): Promise<OpenAiServer> {
  const server = await serveInProcess({
    store: createMemoryStore(),
    ...options,
    components: [...labComponents(), hurried, forecaster, forecasters, ...components],
    limits: { ...quickLimits, ...options.limits },
  })
  return { ...server, base: `${server.url}/v1` }
}

/** The newest run, once its log has `events` events. */
export function untilRun(server: Server, events = 1): Promise<Run> {
  return until(`the newest run has ${events} events`, async () => {
    const { runs } = await server.service.list(localPrincipal, { limit: 1 })
    return (runs[0]?.next ?? 0) >= events && runs[0]!.run
  })
}

export async function runsOf(server: Server): Promise<readonly Run[]> {
  return (await server.service.list(localPrincipal)).runs.map(({ run }) => run)
}

export interface Raw {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** One request without a client that interprets the answer. */
export async function raw(
  server: Server,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
  method = body === undefined ? 'GET' : 'POST',
): Promise<Raw> {
  const response = await fetch(server.url + path, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The data of each frame of a stream, `[DONE]` included, and comments apart. */
export function framesIn(text: string): unknown[] {
  return text
    .split('\n\n')
    .flatMap((frame) => frame.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => (line === 'data: [DONE]' ? '[DONE]' : (JSON.parse(line.slice(6)) as unknown)))
}
