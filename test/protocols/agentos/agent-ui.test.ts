/**
 * The requests of agno's chat page (agent-ui), in the order in which it makes them, from a page of another origin in a
 * real browser. They were recorded while the page itself was driven against this server.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { INSTALL_MS } from '../../support/apt.ts'
import { hasChromium, useChromium } from '../../browser/chromium.ts'
import { type AgentOsServeOptions, serveAgentOs } from './serve.ts'

const TIMEOUT_MS = INSTALL_MS + 60_000
const openContext = useChromium()

interface Told {
  readonly status: number
  readonly text: string
}

/** What the page sends: a type on every request, a form for a run, and a token where the user has set one. */
interface Sent {
  readonly url: string
  readonly method?: string
  readonly token?: string
  readonly form?: Readonly<Record<string, string>>
}

interface World {
  readonly page: Page
  readonly url: string
}

/** The page has its own server at another origin, which ours allows by default. */
async function openWorld(options: AgentOsServeOptions = {}): Promise<World> {
  const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'))
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  onTestFinished(() => site.close().closeAllConnections())
  const { port } = site.address() as AddressInfo
  const origin = `http://localhost:${port}`
  const { url } = await serveAgentOs({ corsOrigins: [origin], ...options })
  const page = await (await openContext()).newPage()
  await page.goto(origin)
  return { page, url }
}

function send(page: Page, sent: Sent): Promise<Told> {
  return page.evaluate(async ({ url, method = 'GET', token, form }: Sent): Promise<Told> => {
    const body = form === undefined ? undefined : new FormData()
    for (const [name, value] of Object.entries(form ?? {})) body?.append(name, value)
    const response = await fetch(url, {
      method,
      headers: {
        ...(body === undefined && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body }),
    })
    return { status: response.status, text: await response.text() }
  }, sent)
}

// oxlint-disable-next-line typescript/no-explicit-any -- each test knows what it asked for
async function json(page: Page, sent: Sent): Promise<any> {
  const { status, text } = await send(page, sent)
  expect(status).toBe(200)
  return JSON.parse(text)
}

/** The page looks for JSON objects in the stream by their braces, and for nothing else. */
function objectsIn(text: string): Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    const start = line.indexOf('{')
    return start === -1 ? [] : [JSON.parse(line.slice(start)) as Record<string, unknown>]
  })
}

describe.skipIf(!hasChromium)("agno's chat page", () => {
  test(
    'lists agents and teams, chats, and finds the session again after a reload',
    async () => {
      const { page, url } = await openWorld()
      expect((await send(page, { url: `${url}/health` })).status).toBe(200)
      expect(await json(page, { url: `${url}/teams` })).toContainEqual(
        expect.objectContaining({ id: 'lab-team', name: 'Lab', db_id: expect.any(String) }),
      )
      const agents = await json(page, { url: `${url}/agents` })
      const { id, db_id: db } = agents.find((agent: { id: string }) => agent.id === 'lab')
      const sessions = `${url}/sessions?type=agent&component_id=${id}&db_id=${db}`
      expect((await json(page, { url: sessions })).data).toEqual([])

      const form = { message: 'text 3; tool search; say end', stream: 'true', session_id: '' }
      const { status, text } = await send(page, { url: `${url}/agents/${id}/runs`, method: 'POST', form })
      expect(status).toBe(200)
      const chunks = objectsIn(text)
      expect(chunks[0]).toMatchObject({
        event: 'RunStarted',
        session_id: expect.any(String),
        created_at: expect.any(Number),
      })
      expect(chunks.find(({ event }) => event === 'ToolCallCompleted')!['tool']).toMatchObject({
        tool_call_id: expect.any(String),
        tool_name: 'search',
      })
      const output = chunks.filter(({ event }) => event === 'RunContent').map(({ content }) => content)
      expect(chunks.at(-1)).toMatchObject({ event: 'RunCompleted', content: output.join('') })
      expect(output.join('')).toMatch(/^\[0\].*\[2\].*end$/)

      const session = chunks[0]!['session_id'] as string
      const { data } = await json(page, { url: sessions })
      expect(data).toMatchObject([{ session_id: session, session_name: form.message, created_at: expect.any(String) }])
      const runs = await json(page, { url: `${url}/sessions/${session}/runs?type=agent&db_id=${db}` })
      expect(runs).toMatchObject([
        { run_input: form.message, content: output.join(''), tools: [{ tool_name: 'search' }] },
      ])
      await send(page, { url: `${url}/agents/${id}/runs`, method: 'POST', form: { ...form, session_id: session } })
      expect(await json(page, { url: `${url}/sessions/${session}/runs?type=agent&db_id=${db}` })).toHaveLength(2)

      const removed = { url: `${url}/sessions/${session}?db_id=${db}`, method: 'DELETE' }
      expect((await send(page, removed)).status).toBe(204)
      expect((await json(page, { url: sessions })).data).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    'shows a team’s text and why a run failed',
    async () => {
      const { page, url } = await openWorld()
      const form = { message: 'say hello', stream: 'true', session_id: '' }
      const team = await send(page, { url: `${url}/teams/lab-team/runs`, method: 'POST', form })
      const chunks = objectsIn(team.text)
      expect(chunks[0]).toMatchObject({ event: 'TeamRunStarted', session_id: expect.any(String) })
      expect(chunks.at(-1)).toMatchObject({ event: 'TeamRunCompleted', content: 'hello' })
      const failing = { ...form, message: 'text 1; throw boom' }
      const failed = await send(page, { url: `${url}/agents/lab/runs`, method: 'POST', form: failing })
      expect(objectsIn(failed.text).at(-1)).toMatchObject({ event: 'RunError', content: 'boom' })
    },
    TIMEOUT_MS,
  )

  test(
    'sends the token that its user has set',
    async () => {
      const key = 'a-key-that-everybody-shares'
      const { page, url } = await openWorld({ auth: { securityKey: key } })
      expect((await send(page, { url: `${url}/agents` })).status).toBe(401)
      expect((await send(page, { url: `${url}/agents`, token: key })).status).toBe(200)
      const form = { message: 'say hello', stream: 'true', session_id: '' }
      const { text } = await send(page, { url: `${url}/agents/lab/runs`, method: 'POST', token: key, form })
      expect(objectsIn(text).at(-1)).toMatchObject({ event: 'RunCompleted', content: 'hello' })
    },
    TIMEOUT_MS,
  )

  test(
    'is blocked by the browser if its origin is not allowed',
    async () => {
      const { page, url } = await openWorld({ corsOrigins: ['https://elsewhere.example'] })
      await expect(send(page, { url: `${url}/agents` })).rejects.toThrow('Failed to fetch')
      const form = { message: 'text 1', stream: 'true', session_id: '' }
      await expect(send(page, { url: `${url}/agents/lab/runs`, method: 'POST', form })).rejects.toThrow(
        'Failed to fetch',
      )
    },
    TIMEOUT_MS,
  )
})
