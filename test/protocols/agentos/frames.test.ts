/** The frames of AgentOS streams, and events that cannot be converted to a frame. */
import { describe, expect, test } from 'vitest'
import type { Logger } from '../../../src/core/ports/logger.ts'
import { nameless } from './components.ts'
import { dataOf, framesIn, idsOf, indicesOf, namesOf, postForm, serveAgentOs, stream, upTo } from './serve.ts'

const families = [
  { path: '/agents/lab/runs', error: 'RunError', field: 'content', id: 'agent_id' },
  { path: '/teams/lab-team/runs', error: 'TeamRunError', field: 'content', id: 'team_id' },
  { path: '/workflows/lab-workflow/runs', error: 'WorkflowError', field: 'error', id: 'workflow_id' },
] as const

/** The agent without names, as a team and as a workflow. */
const namelessFamilies = (['team', 'workflow'] as const).map((kind) => ({ ...nameless, id: `nameless-${kind}`, kind }))

const unserializable = ['circular', 'function', 'getter', 'deep 1000'] as const

describe('AgentOS: an event that cannot be serialized', () => {
  for (const { path, error, field, id } of families) {
    test(`[EVT-1] O-1 O-3 ends the stream of ${path} with a valid ${error} frame, and the response completes`, async () => {
      const server = await serveAgentOs()
      for (const statement of unserializable) {
        const response = await postForm(server, path, { message: `text 2; ${statement}; text 2` })
        // `text` rejects when the answer breaks off in the middle.
        const frames = framesIn(await response.text())
        const last = frames.at(-1)!
        expect(last.event).toBe(error)
        expect(last.data).toMatchObject({ event: error, [id]: expect.any(String), error_type: 'unserializable' })
        expect(last.data).toMatchObject({ run_id: idsOf(frames).run, session_id: idsOf(frames).session })
        expect(last.data[field]).toMatch(/^event custom\.emitted: data\.value/)
        expect(indicesOf(frames)).toEqual(upTo(frames.length))
      }
    })
  }

  for (const { path } of families) {
    test(`[EVT-1] O-2 in a run of ${path} is logged once, with the error and the id that the client gets`, async () => {
      const lines: { readonly level: string; readonly fields: Record<string, unknown>; readonly message: string }[] = []
      const note = (level: string) => (fields: object, message: string) =>
        void lines.push({ level, fields: { ...fields }, message })
      const logger: Logger = { debug: () => {}, info: () => {}, warn: note('warn'), error: note('error') }
      const server = await serveAgentOs({ logger })
      for (const [statement, problem, at] of [
        ['circular', 'refers to an object that contains it (a cycle)', 'data.value.value'],
        ['function', 'is a function', 'data.value.value'],
        ['getter', 'throws', 'data.value.value'],
        ['deep 1000', 'is nested more than 200 levels deep', 'data.value'],
      ] as const) {
        lines.length = 0
        const frames = await stream(server, path, { message: `text 1; ${statement}` })
        expect(lines.map(({ level }) => level)).toEqual(['error'])
        const [{ fields, message }] = lines as [(typeof lines)[number]]
        expect(message).toContain(`run failed: event custom.emitted: ${at}`)
        expect(message).toContain(problem)
        expect(fields).toMatchObject({
          run: idsOf(frames).run,
          component: expect.stringMatching(/^lab/),
          code: 'unserializable',
          errorId: frames.at(-1)!.data['error_id'],
          details: { event: 'custom.emitted', path: expect.stringContaining(at) },
        })
        // The error itself, of its own class, so that its stack says where it was thrown.
        expect(fields['err']).toBeInstanceOf(Error)
        expect(String(fields['errorId'])).not.toBe('')
      }
    })
  }

  test('is the same for a client that resumes as it was live', async () => {
    const server = await serveAgentOs()
    const live = await stream(server, '/agents/lab/runs', { message: 'text 2; function' })
    const resumed = await stream(server, `/agents/lab/runs/${idsOf(live).run}/resume`, {})
    expect(dataOf(resumed).map(({ text }) => text)).toEqual(live.map(({ text }) => text))
  })
})

describe.each(['/agents/nameless', '/teams/nameless-team', '/workflows/nameless-workflow'])(
  'AgentOS: a stream of %s',
  (path) => {
    test('O-4 frames an event without a name as message, live and on resume', async () => {
      const server = await serveAgentOs({ components: namelessFamilies })
      const live = await stream(server, `${path}/runs`, { message: 'go' })
      const resumed = await stream(server, `${path}/runs/${idsOf(live).run}/resume`, {})
      for (const frames of [live, resumed]) {
        const custom = frames.filter(({ data }) => data['event'] === 'CustomEvent')
        expect(custom.map(({ event }) => event)).toEqual(['CustomEvent', 'message'])
        expect(custom.map(({ data }) => data['value'])).toEqual([{ lines: 'one\ntwo\n\nthree' }, 1])
        // No other event takes that name, and none is framed without one.
        expect(frames.filter(({ event }) => event === 'message' || event === '')).toEqual([custom[1]])
      }
    })

    test('O-5 frames an event as a name, one line of compact JSON and a blank line; only an id is added', async () => {
      const server = await serveAgentOs({ components: namelessFamilies })
      const response = await postForm(server, `${path}/runs`, { message: 'go' })
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-cache, no-transform')
      expect(response.headers.get('x-accel-buffering')).toBe('no')
      const live = await response.text()
      const { run } = idsOf(framesIn(live))
      const resumed = await (await postForm(server, `${path}/runs/${run}/resume`, {})).text()
      for (const text of [live, resumed]) {
        expect(text).not.toContain('\r')
        const frames = framesIn(text)
        expect(indicesOf(frames)).toEqual(upTo(dataOf(frames).length))
        for (const { data, event, text: frame } of dataOf(frames)) {
          expect(frame).toBe(`id: ${String(data['event_index'])}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
          expect(event).toBe(data['name'] === '' ? 'message' : data['event'])
        }
        expect(frames.map(({ text: frame }) => frame).join('')).toBe(text.replace(/^retry: \d+\n\n/, ''))
      }
    })
  },
)

/** Something of each kind of event, with the characters that end a line for one reader or another. */
const ORDINARY =
  'text 3; reason 2; tool look; tool look fail; step plan; artifact report 40; custom note; state on; usage 1 2; say a\u2028b\u0085c'

test.each(families)(
  'O-5 AgentOS: every ordinary event of $path is framed by its own name, with one line of compact JSON',
  async ({ path }) => {
    const server = await serveAgentOs()
    const text = await (await postForm(server, path, { message: ORDINARY })).text()
    const frames = framesIn(text)
    expect(new Set(namesOf(frames)).size).toBeGreaterThan(5)
    expect(JSON.stringify(frames.map(({ data }) => data))).toContain('a\u2028b\u0085c')
    for (const { data, event, text: frame } of frames) {
      expect(event).toBe(data['event'])
      expect(frame).toBe(`id: ${String(data['event_index'])}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    }
    expect(frames.map(({ text: frame }) => frame).join('')).toBe(text.replace(/^retry: \d+\n\n/, ''))
  },
)

test('AgentOS: a quiet stream sends comments as heartbeats, which are not events', async () => {
  const server = await serveAgentOs({ limits: { heartbeatIntervalMs: 20 } })
  const response = await postForm(server, '/agents/lab/runs', { message: 'text 1; sleep 200; text 1' })
  const text = await response.text()
  expect(text).toContain('\n\n: heartbeat\n\n')
  expect(namesOf(framesIn(text)).filter((name) => name === 'RunContent')).toHaveLength(2)
})

test('AgentOS: values without a JSON form are sent in their documented form, and every frame is valid JSON', async () => {
  const server = await serveAgentOs()
  const frames = await stream(server, '/agents/lab/runs', { message: 'date; bytes; bigint; nan' })
  const values = frames.filter(({ data }) => data['event'] === 'CustomEvent').map(({ data }) => data['value'])
  expect(values[0]).toEqual({ value: '2001-02-03T04:05:06.789Z' })
  expect(values[2]).toEqual({ value: '18446744073709551616' })
  expect(values[3]).toEqual({ value: 'NaN' })
})
