/** A gateway that is killed keeps the callers' credentials encrypted, and continues their runs with them. */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { chunk, sse } from '../gateway/chat-server.ts'

const CREDENTIAL = 'sk-of-a-caller-4711'

/** Its first response never ends. */
async function startUpstream(): Promise<{ url: string; seen: (string | undefined)[] }> {
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    if (request.url === '/v1/models') return void response.end('{"data":[{"id":"m"}]}')
    seen.push(request.headers.authorization)
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sse(chunk({ content: 'half' })))
      if (seen.length > 1) response.end(sse(chunk({}, 'stop'), '[DONE]'))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, seen }
}

test('[RUN-1] [SEC-3] gateway: after kill -9 a run is repeated with the caller’s credential, which is on disk only encrypted', async () => {
  const { url, seen } = await startUpstream()
  const store = temporaryDatabase()
  const command = ['gateway', '--upstream', `openai=${url}`, '--auth', 'passthrough', '--upstream-recovery', 'retry']
  const authorization = `Bearer ${CREDENTIAL}`
  const first = await startServer({ store, command })
  const response = await fetch(`${first.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'go' }], stream: true }),
  })
  const run = response.headers.get('holdfast-run')!
  await until('the upstream works', () => seen.length === 1)
  await first.kill()
  await response.text().catch(() => '')
  const names = readdirSync(dirname(store), { recursive: true, withFileTypes: true })
  const files = names.filter((each) => each.isFile()).map((each) => readFileSync(join(each.parentPath, each.name)))
  expect(files.length).toBeGreaterThan(0)
  expect(files.some((bytes) => bytes.includes(CREDENTIAL))).toBe(false)
  const second = await startServer({ store, command })
  const status = await until('the run ended', async () => {
    const found = await fetch(`${second.url}/runs/${run}`, { headers: { authorization } })
    const { status: now } = (await found.json()) as { status: string }
    return (now === 'completed' || now === 'failed') && now
  })
  expect(status).toBe('completed')
  expect(seen).toEqual([authorization, authorization])
})
