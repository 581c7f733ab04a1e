/** Pages of other origins: which are allowed, and the operator's warning about the others. */
import { expect, onTestFinished, test } from 'vitest'
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { createServer, type ServerOptions } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'

interface Line {
  readonly fields: object
  readonly text: string
}

async function serve(options: Partial<ServerOptions> = {}): Promise<{ readonly url: string; readonly warned: Line[] }> {
  const warned: Line[] = []
  const nothing = (): void => {}
  const logger = {
    debug: nothing,
    info: nothing,
    error: nothing,
    warn: (fields: object, text: string) => void warned.push({ fields, text }),
  }
  const server = await createServer({ components: labComponents(), store: createMemoryStore(), logger, ...options })
  onTestFinished(() => server.close())
  return { url: server.url, warned }
}

const started = { component: 'lab', input: 'text 1' }

function ask(url: string, origin: string): Promise<Response> {
  const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' }
  return fetch(`${url}/runs`, { method: 'OPTIONS', headers })
}

function start(url: string, origin: string): Promise<Response> {
  const headers = { origin, 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' }
  return fetch(`${url}/runs`, { method: 'POST', headers, body: JSON.stringify(started) })
}

test.each(['http://localhost:3000', 'http://localhost', 'https://127.0.0.1:8443', 'http://[::1]:5173'])(
  'CORS: with corsLoopback, as in holdfast dev, pages of %s are allowed',
  async (origin) => {
    const { url, warned } = await serve({ corsLoopback: true })
    const asked = await ask(url, origin)
    expect(asked.status).toBe(204)
    expect(asked.headers.get('access-control-allow-origin')).toBe(origin)
    expect((await start(url, origin)).status).toBe(202)
    expect(warned).toEqual([])
  },
)

test.each(['https://localhost.example', 'http://127.0.0.1.example:80', 'https://evil.example', 'null'])(
  'CORS: with corsLoopback, pages of %s are rejected',
  async (origin) => {
    const { url } = await serve({ corsLoopback: true })
    expect((await ask(url, origin)).headers.get('access-control-allow-origin')).toBeNull()
    expect((await start(url, origin)).status).toBe(403)
  },
)

test('CORS: a rejected origin is logged once, with the flag that allows it', async () => {
  const { url, warned } = await serve()
  const origin = 'http://localhost:3000'
  for (let time = 0; time < 3; time++)
    expect((await ask(url, origin)).headers.get('access-control-allow-origin')).toBeNull()
  await fetch(`${url}/components`, { headers: { origin } })
  expect(warned).toEqual([{ fields: { origin }, text: expect.stringContaining('--cors-origins') as string }])
})

test('CORS: made-up origins do not fill the log', async () => {
  const { url, warned } = await serve()
  for (let number = 0; number < 30; number++) await ask(url, `https://${number}.example`)
  expect(warned).toHaveLength(20)
})
