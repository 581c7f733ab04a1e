/** A server for one test of this protocol: the lab, agents on scripted models, and bounds that are reached quickly. */
import type { Component } from '../../../src/core/agent.ts'
import type { Run } from '../../../src/core/run.ts'
import { labAgent } from '../../../src/agents/lab/agent.ts'
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { scriptedModel } from '../../../src/agents/model/scripted.ts'
import { team } from '../../../src/agents/team/team.ts'
import type { Limits } from '../../../src/core/limits.ts'
import { localPrincipal } from '../../../src/core/principal.ts'
import type { Server, ServerOptions } from '../../../src/server/create-server.ts'
import { openMemoryStore } from '../../../src/stores/memory.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { until } from '../../support/until.ts'

/** Wants the caller's tool `weather` for each city that it is asked about, and then says what it was told. */
const forecasting = scriptedModel({
  script: ({ text, tools, results, instructions, format, prompt }) => {
    if (text === 'instructions') return `told: ${instructions}`
    if (text === 'tools') return `tools: ${tools.join(', ')}`
    if (text === 'format') return JSON.stringify({ format: format?.type })
    if (text === 'prompt') return JSON.stringify(prompt)
    if (results.length > 0) return results.map(({ output }) => `It is ${String(output)}.`).join(' ')
    const cities = text.split(' and ')
    return ['Looking it up. ', ...cities.map((city) => ({ type: 'tool' as const, name: 'weather', input: { city } }))]
  },
})

const forecaster: Component = modelAgent({ id: 'forecaster', model: forecasting })

/** The same with members, whom it asks nothing. */
const forecasters: Component = team({ id: 'forecasters', model: forecasting, members: [labAgent()] })

/** What a test would otherwise wait for. */
const quickLimits: Partial<Limits> = { retryMs: 20, longPollMs: 10_000, stopGraceMs: 50, drainMs: 0 }

const hurried: Component = { ...labAgent({ id: 'lab-hurried' }), limits: { runDeadlineMs: 300 } }

export interface OpenAiServer extends Server {
  /** For `baseURL`. */
  readonly base: string
}

export async function serveOpenAi({ components = [], ...options }: Partial<ServerOptions> = {}): Promise<OpenAiServer> {
  const server = await serveInProcess({
    store: openMemoryStore(),
    ...options,
    components: [...labComponents(), hurried, forecaster, forecasters, ...components],
    limits: { ...quickLimits, ...options.limits },
  })
  return { ...server, base: `${server.url}/v1` }
}

/** The newest run, once it has written so many events. */
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
