/** `/sessions` of a gateway that passes an AgentOS through at the root: its own sessions and those of the upstream, in one list. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { createKey } from '../../src/server/auth/api-keys.ts'
import type { Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'
import { temporaryFolder } from '../support/temporary.ts'

interface Listed {
  readonly data: readonly { readonly session_id: string; readonly session_name: string }[]
  readonly meta: { readonly total_count: number; readonly total_pages: number; readonly upstream?: unknown }
}

const YEAR = 365 * 24 * 3600

/** The newest first, as agno lists them. `pageMax`: sessions that it lists at once. */
async function startAgno(ids: readonly string[], { pageMax = 100, status = 200 } = {}) {
  const requests: string[] = []
  const state = { status }
  const http = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
    response.setHeader('content-type', 'application/json')
    if (/^\/(agents|teams|workflows)$/.test(pathname)) return void response.end('[]')
    requests.push(`${request.method} ${request.url}`)
    if (pathname !== '/sessions') return void response.end(JSON.stringify({ theirs: pathname }))
    const limit = Math.min(Number(searchParams.get('limit')), pageMax)
    const page = Number(searchParams.get('page'))
    // A year ago, and a second earlier for each.
    const sessions = ids.map((id, index) => ({
      session_id: id,
      session_name: `theirs ${id}`,
      created_at: Math.floor(Date.now() / 1000) - YEAR - index,
    }))
    const data = sessions.slice((page - 1) * limit, page * limit)
    const meta = { page, limit, total_pages: Math.ceil(ids.length / limit), total_count: ids.length }
    response.writeHead(state.status).end(JSON.stringify({ data, meta }))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const stop = (): void => http.close().closeAllConnections()
  onTestFinished(stop)
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, requests, state, stop }
}

const mine = agent({
  id: 'mine',
  async *run() {
    yield 'hi'
  },
})

function serve(url: string, more: Parameters<typeof upstream.agentos>[1] = {}): Promise<Server> {
  return serveInProcess({
    store: createMemoryStore(),
    components: [upstream.agentos(url, { passthrough: 'root', ...more }), mine],
  })
}

async function start(server: Server, session: string): Promise<void> {
  const body = new URLSearchParams({ message: `ours ${session}`, stream: 'false', session_id: session })
  expect((await fetch(`${server.url}/agents/mine/runs`, { method: 'POST', body })).status).toBe(200)
}

async function list(server: Server, query = ''): Promise<Listed> {
  return (await (await fetch(`${server.url}/sessions${query}`)).json()) as Listed
}

function idsOf({ data }: Listed): string[] {
  return data.map(({ session_id: id }) => id)
}

describe('gateway, merged sessions', () => {
  test('the list has the sessions of both servers by time, each once, over all pages', async () => {
    const agno = await startAgno(['both', 'b', 'c', 'd', 'e'], { pageMax: 2 })
    const server = await serve(agno.url)
    for (const session of ['both', 'a']) await start(server, session)
    const whole = await list(server)
    expect(idsOf(whole)).toEqual(['a', 'both', 'b', 'c', 'd', 'e'])
    expect(whole.data[1]).toMatchObject({ session_name: 'ours both' })
    expect(whole.meta).toMatchObject({ total_count: 6, total_pages: 1, upstream: { name: 'agentos', status: 'ok' } })
    const pages = await Promise.all([1, 2, 3, 4].map((page) => list(server, `?limit=2&page=${page}`)))
    expect(pages.map(idsOf)).toEqual([['a', 'both'], ['b', 'c'], ['d', 'e'], []])
    for (const { meta } of pages) expect(meta).toMatchObject({ total_count: 6, total_pages: 3 })
  })

  test('ascending: the upstream is asked for the same order, with the caller’s filters', async () => {
    const agno = await startAgno(['old'])
    const server = await serve(agno.url)
    await start(server, 'new')
    expect(idsOf(await list(server, '?sort_order=asc&type=agent'))).toEqual(['old', 'new'])
    expect(agno.requests).toEqual(['GET /sessions?sort_order=asc&type=agent&page=1&limit=100'])
  })

  test('an upstream that is down or refuses is reported, and this server’s sessions are listed', async () => {
    const agno = await startAgno(['b'], { status: 500 })
    const server = await serve(agno.url)
    await start(server, 'a')
    const refused = await list(server)
    expect([idsOf(refused), refused.meta.upstream]).toEqual([['a'], { name: 'agentos', status: 'error', code: 500 }])
    agno.stop()
    const down = await list(server)
    expect([idsOf(down), down.meta.upstream]).toEqual([['a'], { name: 'agentos', status: 'unreachable' }])
  })

  test('at most 1,000 sessions of the upstream are merged, which the list says; a page beyond them is refused', async () => {
    const agno = await startAgno(Array.from({ length: 1500 }, (_, index) => `s${index}`))
    const server = await serve(agno.url)
    await start(server, 'a')
    const { meta } = await list(server)
    expect(meta).toMatchObject({ total_count: 1001, upstream: { status: 'truncated' } })
    expect(agno.requests).toHaveLength(10)
    expect((await fetch(`${server.url}/sessions?page=51`)).status).toBe(400)
  })

  test('the upstream serves a session that only it has, and no other', async () => {
    const agno = await startAgno(['theirs'])
    const server = await serve(agno.url)
    await start(server, 'a')
    expect(await (await fetch(`${server.url}/sessions/a`)).json()).toMatchObject({ session_id: 'a' })
    expect(await (await fetch(`${server.url}/sessions/x%20y/runs?type=agent`)).json()).toEqual({
      theirs: '/sessions/x%20y/runs',
    })
    const renamed = await fetch(`${server.url}/sessions/theirs/rename`, {
      method: 'POST',
      body: '{"session_name":"n"}',
    })
    expect(await renamed.json()).toEqual({ theirs: '/sessions/theirs/rename' })
    expect((await fetch(`${server.url}/sessions/theirs`, { method: 'DELETE' })).status).toBe(200)
    expect(agno.requests).toEqual([
      'GET /sessions/x%20y/runs?type=agent',
      'POST /sessions/theirs/rename',
      'DELETE /sessions/theirs',
    ])
  })

  test('[SEC-1] without passthrough at the root, and for callers who may not use the upstream’s key, only this server’s sessions are listed', async () => {
    const agno = await startAgno(['theirs'])
    const behind = await serve(agno.url, { passthrough: 'prefix' })
    expect(await list(behind)).toMatchObject({ data: [], meta: { total_count: 0 } })
    const keys = `${temporaryFolder()}/keys.json`
    const { key } = await createKey(keys, { name: 'user' })
    const keyed = await serveInProcess({
      store: createMemoryStore(),
      auth: { keys },
      components: [upstream.agentos(agno.url, { passthrough: 'root', headers: { authorization: 'Bearer theirs' } })],
    })
    const headers = { authorization: `Bearer ${key}` }
    const seen = (await (await fetch(`${keyed.url}/sessions`, { headers })).json()) as Listed
    expect([idsOf(seen), seen.meta.upstream]).toEqual([[], undefined])
    expect((await fetch(`${keyed.url}/sessions/theirs`, { headers })).status).toBe(404)
    expect(agno.requests).toEqual([])
  })
})
