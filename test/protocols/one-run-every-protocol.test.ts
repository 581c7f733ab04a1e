/** One run in every protocol: started in one, followed and stopped in any other, checked by the native log. */
import { expect, test } from 'vitest'
import { call, readEvents, untilFinished } from '../support/http.ts'
import { A2A_HEADERS, framesIn, linkTo, newestRun, type ProtocolLink, rpc, starts } from './every-protocol.ts'
import { type NativeServer, serveNative } from './native/serve.ts'

const stops: Readonly<Record<string, (server: NativeServer, run: string, link: ProtocolLink) => Promise<unknown>>> = {
  native: (server, run) => call(server, 'POST', `/runs/${run}/stop`),
  agentos: (server, run) => call(server, 'POST', `/agents/lab/runs/${run}/cancel`),
  openai: (server, _run, { id }) => call(server, 'POST', `/v1/responses/${id}/cancel`),
  a2a: (server, _run, { id }) =>
    call(server, 'POST', `/a2a/lab/tasks/${id}:cancel`, { body: {}, headers: A2A_HEADERS }),
  'ai-sdk': (server, run) => call(server, 'POST', `/ai/lab/chat/${run}/stop`),
  'ag-ui': (server, _run, { session }) =>
    call(server, 'POST', `/ag-ui/lab/threads/${encodeURIComponent(session)}/stop`),
  mcp: (server, run) => call(server, 'POST', '/mcp', { body: rpc('tasks/cancel', { taskId: run }) }),
}

/** The whole stream of a protocol, once the run has ended. */
async function follow(server: NativeServer, { resume: { url, headers = {} } }: ProtocolLink): Promise<string> {
  const { status, body } = await call<string>(server, 'GET', url, { headers })
  expect(status, url).toBe(200)
  return framesIn(body)
    .map(({ data }) => data)
    .join('\n')
}

const PROTOCOLS = [...starts.keys()]

test.each(PROTOCOLS)('one run, every protocol: started in %s, followed and stopped in every other', async (first) => {
  const server = await serveNative()
  for (const second of PROTOCOLS) {
    const about = `${first} → ${second}`
    await starts.get(first)!(server, { component: 'lab', input: 'text 3; hang', session: `session of ${about}` })
    const { id, protocol } = await newestRun(server)
    expect(protocol, about).toBe(first)
    const link = await linkTo(server, id, second)
    const followed = follow(server, link)
    await stops[second]!(server, id, link)
    await untilFinished(server, id)
    const log = await readEvents(server, id)
    expect(
      log.map(({ type }) => type).filter((type) => type.startsWith('run.')),
      about,
    ).toEqual(['run.created', 'run.started', 'run.cancelled'])
    const output = log.flatMap(({ type, data }) => (type === 'text.delta' ? [(data as { text: string }).text] : []))
    const shown = await followed
    for (const piece of output) expect(shown, about).toContain(JSON.stringify(piece).slice(1, -1))
    expect(shown, about).toMatch(/cancel|interrupted/i)
  }
})
