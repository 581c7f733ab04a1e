/** A real AgentOS through the gateway: clients get the same as directly. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { framesIn, postForm } from '../protocols/agentos/serve.ts'
import { ensurePython, PYTHON_INSTALL_MS, type PythonServer, startPythonServer } from '../support/python.ts'
import { serveInProcess } from '../support/in-process.ts'
import { until } from '../support/until.ts'

const folder = join(import.meta.dirname, '../support/agno')
const PATIENCE_MS = 180_000
let agno: PythonServer

beforeAll(async () => {
  agno = await startPythonServer(await ensurePython(join(folder, 'requirements.txt')), [join(folder, 'server.py')])
}, 2 * PYTHON_INSTALL_MS)
afterAll(() => agno?.kill())

async function serve(): Promise<Server> {
  const server = await serveInProcess({ store: createMemoryStore(), components: [upstream.agentos(agno.url)] })
  // On a busy machine the first discovery may time out.
  await until('the components were discovered', () => server.service.health().upstreams?.[0]?.status === 'ok')
  return server
}

type Fields = Readonly<Record<string, unknown>>

/** Without what differs between any two runs: ids, times, and our numbers of events. */
function comparable(value: unknown, ids: Map<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => comparable(each, ids))
  if (typeof value === 'string') return value.replace(/completed in [\d.]+s/, 'completed')
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !VOLATILE.test(name))
      .map(([name, each]) => [name, /(_|^)id$/.test(name) ? named(each, ids) : comparable(each, ids)]),
  )
}

const VOLATILE = /^(created_at|event_index|duration|time_to_first_token|start_time|end_time|timer|additional_metrics)$/

/** The same ids in both streams get the same names. */
function named(id: unknown, ids: Map<string, string>): unknown {
  if (typeof id !== 'string' || !/^(run_|[0-9a-f]{8}-)/.test(id)) return id
  if (!ids.has(id)) ids.set(id, `id ${ids.size}`)
  return ids.get(id)
}

async function streamOf(server: { readonly url: string }, path: string, fields: Readonly<Record<string, string>>) {
  const response = await postForm(server, `${path}/runs`, { message: 'hello', stream: 'true', ...fields })
  expect(response.status).toBe(200)
  const frames = framesIn(await response.text())
  const ids = new Map<string, string>()
  return frames.map(({ event, data }) => ({ event, data: comparable(data, ids) as Fields }))
}

describe('gateway, AgentOS: a client of the same protocol', () => {
  test('finds agents, teams and workflows under their own ids', { timeout: PATIENCE_MS }, async () => {
    const server = await serve()
    for (const path of ['agents', 'teams', 'workflows']) {
      const idsAt = async (url: string) =>
        ((await (await fetch(`${url}/${path}`)).json()) as { id: string }[]).map(({ id }) => id).toSorted()
      expect(await idsAt(server.url)).toEqual(await idsAt(agno.url))
    }
  })

  test.for(['/agents/story', '/agents/look', '/agents/fall', '/teams/team', '/workflows/flow', '/agents/unkept'])(
    'sees the stream of %s as it came',
    { timeout: PATIENCE_MS },
    async (path) => {
      const server = await serve()
      const session_id = `same${path}`
      // The gateway starts runs in the background where it can, and agno's streams of these differ a little from its others.
      const background = String(path !== '/agents/unkept')
      const direct = await streamOf(agno, path, { session_id, background })
      const through = await streamOf(server, path, { session_id })
      expect(through.map(({ event }) => event)).toEqual(direct.map(({ event }) => event))
      expect(through).toEqual(direct)
    },
  )

  test('sees the failure of an agent as the upstream reported it', { timeout: PATIENCE_MS }, async () => {
    const server = await serve()
    const [direct, through] = [
      await streamOf(agno, '/agents/failing', {}),
      await streamOf(server, '/agents/failing', {}),
    ]
    expect(through.at(-1)).toMatchObject({ event: 'RunError', data: { content: 'no model today' } })
    expect(through.map(({ event }) => event)).toEqual(direct.map(({ event }) => event))
  })

  test(
    'answers a pause through the gateway, with the tool calls of the upstream',
    { timeout: PATIENCE_MS },
    async () => {
      const server = await serve()
      const response = await postForm(server, '/agents/send/runs', { message: 'hello', session_id: 'pause' })
      const paused = framesIn(await response.text()).at(-1)!
      expect(paused).toMatchObject({
        event: 'RunPaused',
        data: { tools: [{ tool_call_id: 'call-send', tool_name: 'send' }] },
      })
      const tools = (paused.data['tools'] as object[]).map((tool) => ({ ...tool, confirmed: true }))
      const form = { session_id: 'pause', tools: JSON.stringify(tools) }
      const continued = await postForm(server, `/agents/send/runs/${String(paused.data['run_id'])}/continue`, form)
      const frames = framesIn(await continued.text())
      expect(frames.at(-1)).toMatchObject({
        event: 'RunCompleted',
        data: { content: 'got sent 25', run_id: paused.data['run_id'] },
      })
    },
  )

  test('resumes after any event, and gets what the whole stream has', { timeout: PATIENCE_MS }, async () => {
    const server = await serve()
    const response = await postForm(server, '/agents/look/runs', { message: 'hello', session_id: 'resume' })
    const frames = framesIn(await response.text())
    const { run_id: run } = frames[0]!.data
    for (const [index] of frames.entries()) {
      const resumed = await postForm(server, `/agents/look/runs/${String(run)}/resume`, {
        session_id: 'resume',
        last_event_index: String(index),
      })
      const rest = framesIn(await resumed.text()).filter(({ event }) => /^[A-Z]/.test(event))
      expect(rest.map(({ text }) => text)).toEqual(frames.slice(index + 1).map(({ text }) => text))
    }
  })
})
