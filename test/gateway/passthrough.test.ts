/** The passthrough to an upstream: which requests are forwarded, and that no other server can be reached. */
import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { targetUrl } from '../../src/protocols/passthrough/target-url.ts'
import type { Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { type InProcessOptions, serveInProcess } from '../support/in-process.ts'
import { until } from '../support/until.ts'
import { startEcho } from './echo-server.ts'

function serve(components: InProcessOptions['components'], more: InProcessOptions = {}): Promise<Server> {
  return serveInProcess({ store: createMemoryStore(), ...(components && { components }), ...more })
}

/** Sends the path unchanged: `fetch` would normalize it. */
function raw(server: Server, path: string): Promise<number> {
  const { hostname, port } = new URL(server.url)
  return new Promise((resolve, reject) => {
    httpRequest({ hostname, port, path }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })
}

describe('gateway, passthrough', () => {
  test('is off unless an upstream is configured for it', async () => {
    const echo = await startEcho()
    const server = await serve([upstream.agentos(echo.url)])
    expect((await fetch(`${server.url}/upstream/agentos/memories`)).status).toBe(404)
    expect(await (await fetch(`${server.url}/memories`)).text()).toContain('is not supported')
    expect(echo.seen).toEqual([])
  })

  test('reaches every route below the upstream’s URL, with method, query, body and status as they are', async () => {
    const echo = await startEcho()
    const server = await serve([upstream.openai(`${echo.url}/v1`, { passthrough: 'prefix' })])
    const response = await fetch(`${server.url}/upstream/openai/files/a%20b?limit=2&after=x`, {
      method: 'PUT',
      body: 'x'.repeat(3_000_000),
    })
    expect(await response.json()).toEqual({ method: 'PUT', url: '/v1/files/a%20b?limit=2&after=x', bytes: 3_000_000 })
    expect((await fetch(`${server.url}/upstream/openai/teapot`, { method: 'DELETE' })).status).toBe(418)
    expect((await fetch(`${server.url}/upstream/other/teapot`)).status).toBe(404)
    expect((await fetch(`${server.url}/embeddings`)).status).toBe(404)
  })

  test('passes the upstream’s key, and neither credentials and cookies of the caller nor hop-by-hop headers', async () => {
    const echo = await startEcho()
    const server = await serve([
      upstream.agentos(echo.url, { passthrough: 'prefix', headers: { authorization: 'Bearer theirs' } }),
    ])
    const response = await fetch(`${server.url}/upstream/agentos/traces`, {
      headers: { authorization: 'Bearer ours', cookie: 'a=b', 'x-mine': 'kept', 'x-forwarded-for': '1.2.3.4' },
    })
    const { headers } = echo.seen[0]!
    expect(headers).toMatchObject({ authorization: 'Bearer theirs', 'x-mine': 'kept' })
    for (const name of ['cookie', 'x-forwarded-for']) expect(headers).not.toHaveProperty(name)
    expect(response.headers.get('x-own')).toBe('kept')
    expect(response.headers.get('content-security-policy')).toBe('sandbox')
    for (const name of ['set-cookie', 'access-control-allow-origin', 'x-hop'])
      expect(response.headers.get(name)).toBeNull()
  })

  test('streams responses, and disconnects when the client does', async () => {
    const echo = await startEcho()
    const server = await serve([upstream.agentos(echo.url, { passthrough: 'prefix' })])
    const leaving = new AbortController()
    const response = await fetch(`${server.url}/upstream/agentos/slow`, { signal: leaving.signal })
    const reader = response.body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('data: one\n\n')
    leaving.abort()
    await until('the upstream lost its client', () => echo.state.gone === 1)
    const whole = fetch(`${server.url}/upstream/agentos/slow`).then((other) => other.text())
    await until('it was asked again', () => echo.seen.length === 2)
    echo.state.finish()
    expect(await whole).toBe('data: one\n\ndata: two\n\n')
  })

  test('at the root: Holdfast’s routes first, then the upstream’s; never its run routes', async () => {
    const echo = await startEcho()
    const server = await serve([
      upstream.agentos(echo.url, { passthrough: 'root' }),
      upstream.openai(`${echo.url}/v1`, { passthrough: 'root' }),
    ])
    for (const [path, url] of [
      ['/memories', '/memories'],
      ['/metrics', '/metrics'],
      ['/eval-runs/1', '/eval-runs/1'],
      ['/some/new/route', '/some/new/route'],
      ['/v1/embeddings', '/v1/embeddings'],
    ])
      expect(await (await fetch(server.url + path)).json()).toMatchObject({ url })
    const requested = echo.seen.length
    for (const path of ['/health', '/admin/metrics', '/config', '/v1/models', '/runs'])
      expect((await fetch(server.url + path)).status).toBe(200)
    for (const path of ['/agents/x/runs', '/agents/x/runs/1/new', '/v1/chat/new', '/v1/completions'])
      expect((await fetch(server.url + path, { method: 'POST' })).ok).toBe(false)
    expect(echo.seen.length).toBe(requested)
  })

  test('[SEC-1] passthrough: no path leads out of the upstream', async () => {
    const echo = await startEcho()
    const server = await serve([upstream.openai(`${echo.url}/v1`, { passthrough: 'root' })])
    for (const path of [
      '/upstream/openai/../admin',
      '/upstream/openai/%2e%2e/admin',
      '/upstream/openai/a/%2E%2E%2F%2E%2E/admin',
      '/upstream/openai/%252e%252e/admin',
      '/upstream/openai/..%5cadmin',
      '/upstream/openai/a\\..\\admin',
      '/upstream/openai//evil.example/x',
      '/upstream/openai/%00',
      '/upstream/openai/http%3A%2F%2Fevil.example',
      '/upstream/openai@evil.example/x',
      '/upstream/..%2fopenai/x',
      '/v1/../admin',
      '/v1/%2e%2e/admin',
    ])
      expect(await raw(server, path), path).toBeGreaterThanOrEqual(400)
    expect(echo.seen).toEqual([])
    const base = 'http://inside.example:8000/v1'
    expect(targetUrl(base, 'http:/evil.example/x', new URLSearchParams()).host).toBe('inside.example:8000')
    expect(() => targetUrl(base, 'https://evil.example/x', new URLSearchParams())).toThrow('cannot be passed')
  })

  test('[SEC-1] passthrough: only administrators may do what the upstream’s key may', async () => {
    const echo = await startEcho()
    const as = (id: string, scopes?: readonly string[]) => () => ({ id, ...(scopes && { scopes }) })
    const status = async (authenticate: InProcessOptions['authenticate'], method = 'GET') => {
      const components = [upstream.agentos(echo.url, { passthrough: 'prefix' as const })]
      const server = await serve(components, { ...(authenticate && { authenticate }) })
      return (await fetch(`${server.url}/upstream/agentos/memories`, { method })).status
    }
    expect(await status(as('ada'))).toBe(403)
    expect(await status(as('ada', ['runs:write']), 'DELETE')).toBe(403)
    expect(await status(as('ada', ['admin']), 'DELETE')).toBe(200)
    expect(await status(() => null)).toBe(401)
  })

  test('[SEC-1] passthrough: with forwarded credentials the upstream decides, and gets the caller’s own', async () => {
    const echo = await startEcho()
    const options = { passthrough: 'prefix', forwardCredential: true } as const
    const server = await serve([upstream.agentos(echo.url, options)], { auth: { passthrough: true } })
    const at = `${server.url}/upstream/agentos/memories`
    expect((await fetch(at)).status).toBe(401)
    expect((await fetch(at, { headers: { authorization: 'Bearer mine' } })).status).toBe(200)
    expect(echo.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer mine'])
  })

  test('an upstream that is down gets 503 without its address', async () => {
    const echo = await startEcho()
    const server = await serve([upstream.agentos('http://127.0.0.1:1', { passthrough: 'prefix' })])
    expect(echo.seen).toEqual([])
    const response = await fetch(`${server.url}/upstream/agentos/memories`)
    expect(response.status).toBe(503)
    expect(await response.text()).not.toContain('127.0.0.1')
  })
})
