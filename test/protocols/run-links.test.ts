/** Run links: a client that has read a part in one protocol continues in any other. */
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { EventParser, type ParsedEvent } from '../../src/sse/index.ts'
import { answerRun, call, getRun, startRun, untilFinished, untilStatus } from '../support/http.ts'
import { type NativeServer, serveNative } from './native/serve.ts'

interface Link {
  readonly protocol: string
  readonly id: string
  readonly session: string
  readonly url: string
  readonly position?: number
  readonly resume: { readonly url: string; readonly headers?: Record<string, string> }
}

interface Links {
  readonly run: string
  readonly cursor: number
  readonly exact: boolean
  readonly links: readonly Link[]
}

const PROTOCOLS = ['native', 'agentos', 'openai', 'a2a', 'ai-sdk', 'ag-ui', 'mcp']

async function linksOf(server: NativeServer, id: string, query = ''): Promise<Links> {
  const { status, body } = await call<Links>(server, 'GET', `/runs/${id}/links${query}`)
  expect(status).toBe(200)
  return body
}

async function finished(server: NativeServer): Promise<string> {
  const { id } = await startRun(server, 'text 4; tool search; reason 2; ask Go on?; text 3; usage 3 4')
  await untilStatus(server, id, ['paused'])
  await answerRun(server, id, 'yes')
  await untilFinished(server, id)
  return id
}

/** The number of a frame in its protocol; undefined for frames without one, such as `[DONE]`. */
function numberOf({ protocol }: Link, { data, id }: ParsedEvent): number | undefined {
  if (data === '[DONE]') return undefined
  const { event_index: agentos, sequence_number: openai } = JSON.parse(data) as Record<string, number | undefined>
  if (protocol === 'agentos') return agentos
  return protocol === 'openai' ? openai : Number(String(id).split('.').at(-1))
}

/** The numbers of the frames after a position. Streams of A2A and AG-UI end when a run asks, and are resumed after it. */
async function resumed(server: NativeServer, link: Link, last: number): Promise<number[]> {
  const numbers: number[] = []
  const { url, headers = {} } = link.resume
  if (link.protocol === 'ai-sdk') return resumedChunks(server, link)
  for (let at = link.position!; at < last;) {
    const token = headers['last-event-id']?.replace(/[^.]*$/, '') ?? '' // names the run where the address does not
    const cursor = numbers.length === 0 ? {} : { 'last-event-id': token + String(at) }
    const { status, body } = await call<string>(server, 'GET', url, { headers: { ...headers, ...cursor } })
    expect(status, `${link.protocol}: ${url}`).toBe(200)
    const frames: ParsedEvent[] = []
    new EventParser({ event: (frame) => frames.push(frame) }).push(body)
    const found = frames.map((frame) => numberOf(link, frame)).filter((number) => number !== undefined && number > at)
    numbers.push(...(found as number[]))
    expect(numbers.length, `${link.protocol}: ${url} after ${at}`).toBeGreaterThan(0)
    if (link.protocol !== 'a2a' && link.protocol !== 'ag-ui') break
    at = numbers.at(-1)!
  }
  return numbers
}

/** Chunks have no numbers: they are located in the whole message, which starts at the client's position -1. */
async function resumedChunks(server: NativeServer, { resume, position = -1 }: Link): Promise<number[]> {
  const chunksAt = async (url: string): Promise<string[]> => {
    const { status, body } = await call<string>(server, 'GET', url)
    expect(status, url).toBe(200)
    return body.split('\n').filter((line) => line.startsWith('data: {'))
  }
  const whole = await chunksAt(resume.url.replace(/startIndex=\d+/, 'startIndex=0'))
  // What closes a stream at a pause has no numbers of its own.
  const rest = (await chunksAt(resume.url)).slice(0, -2)
  expect(rest).toEqual(whole.slice(position + 1, -2))
  return rest.map((_, at) => position + 1 + at)
}

test('[SUB-2] any position of any protocol is resumed in any other with what follows it', async () => {
  const server = await serveNative()
  const id = await finished(server)
  const { events } = await getRun(server, id)
  const end = await linksOf(server, id)
  expect(end).toMatchObject({ run: id, cursor: events - 1, exact: true })
  expect(end.links.map(({ protocol }) => protocol)).toEqual(PROTOCOLS)
  for (const from of end.links) {
    for (let position = -1; position <= from.position!; position++) {
      const { cursor, exact, links } = await linksOf(server, id, `?protocol=${from.protocol}&position=${position}`)
      const own = links.find(({ protocol }) => protocol === from.protocol)!.position
      expect(exact ? own : position).toBe(position)
      for (const to of links) {
        const last = end.links.find(({ protocol }) => protocol === to.protocol)!.position!
        const expected = Array.from({ length: last - to.position! }, (_, at) => to.position! + 1 + at)
        const about = `${from.protocol} ${position} is event ${cursor}; in ${to.protocol}`
        expect(await resumed(server, to, last), about).toEqual(expected)
      }
    }
  }
})

test('the links of a run are where each protocol has it', async () => {
  const server = await serveNative()
  const id = await finished(server)
  const { links } = await linksOf(server, id)
  const found = await Promise.all(
    links.map(async ({ url, protocol, resume }) => {
      // One address for all runs: a cursor names the run.
      const cursor = protocol === 'mcp' ? resume.headers!['last-event-id']!.replace(/[^.]*$/, '-1') : undefined
      const { status, body } = await call(server, 'GET', url, {
        headers: {
          ...(protocol === 'native' ? { accept: 'application/json' } : { 'a2a-version': '1.0' }),
          ...(cursor !== undefined && { 'last-event-id': cursor }),
        },
      })
      // AG-UI and MCP have nothing but streams.
      if (typeof body === 'string') return [protocol, status, /"(?:runId|holdfast\/run)":"([^"]+)"/.exec(body)?.[1]]
      const { messages = [] } = body as { messages?: { id: string; role: string }[] }
      return [protocol, status, body['id'] ?? body['run_id'] ?? messages.find(({ role }) => role === 'assistant')?.id]
    }),
  )
  expect(found.map(([protocol, status]) => [protocol, status])).toEqual(PROTOCOLS.map((protocol) => [protocol, 200]))
  for (const { protocol, id: named } of links.slice(1))
    expect(found.find(([name]) => name === protocol)![2]).toBe(named)
})

test('the client asks for the links of a run', async () => {
  const server = await serveNative()
  const id = await finished(server)
  const run = createClient({ url: server.url }).runs.open(id)
  expect(await run.links()).toEqual(await linksOf(server, id))
  expect(await run.links({ protocol: 'agentos', position: 2 })).toEqual(
    await linksOf(server, id, '?protocol=agentos&position=2'),
  )
})

test('a trimmed run has links, and positions on its log alone', async () => {
  const server = await serveNative()
  const id = await finished(server)
  await server.store.trim(id, 5)
  const { links } = await linksOf(server, id)
  expect(links.filter(({ position }) => position !== undefined).map(({ protocol }) => protocol)).toEqual(['native'])
  const answer = await call(server, 'GET', `/runs/${id}/links?protocol=agentos&position=1`)
  expect(answer).toMatchObject({ status: 410, body: { code: 'cursor_expired' } })
})

test('links follow the paths of protocols that are moved, and name only those that are served', async () => {
  const server = await serveNative({ protocols: { native: '/', openai: '/openai/v1' } })
  const { id } = await startRun(server, 'text 2')
  await untilFinished(server, id)
  const { links } = await linksOf(server, id)
  expect(links.map(({ protocol }) => protocol)).toEqual(['native', 'openai'])
  expect((await call(server, 'GET', links[1]!.url)).status).toBe(200)
})

test.each([
  ['protocol=agentos', 'send both'],
  ['position=1', 'send both'],
  ['protocol=agentos&position=x', 'position is "x"'],
  ['protocol=smtp&position=1', '"smtp" has no positions'],
  ['protocol=agentos&position=999', 'has no frame 999'],
  ['protocol=native&position=999', 'beyond its end'],
])('links?%s is rejected', async (query, detail) => {
  const server = await serveNative()
  const id = await finished(server)
  const answer = await call(server, 'GET', `/runs/${id}/links?${query}`)
  expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(detail) as string } })
})
