/** The frames of AgentOS streams, and what becomes of an event that cannot be one. */
import { describe, expect, test } from 'vitest'
import type { Logger } from '../../../src/core/logger.ts'
import { dataOf, framesIn, idsOf, indicesOf, namesOf, postForm, serveAgentOs, stream, upTo } from './serve.ts'

const families = [
  { path: '/agents/lab/runs', error: 'RunError', field: 'content', id: 'agent_id' },
  { path: '/teams/lab-team/runs', error: 'TeamRunError', field: 'content', id: 'team_id' },
  { path: '/workflows/lab-workflow/runs', error: 'WorkflowError', field: 'error', id: 'workflow_id' },
] as const

const unserializable = ['circular', 'function', 'getter', 'deep 1000'] as const

describe('an event that cannot be serialized', () => {
  for (const { path, error, field, id } of families) {
    test(`[EVT-1] O-1 O-3 ends the stream of ${path} with a valid ${error} frame, and the answer completes`, async () => {
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

  test("[EVT-1] O-2 is named in the server's log by type, path and problem, under the error id that the client has", async () => {
    const lines: { readonly fields: object; readonly message: string }[] = []
    const note = (fields: object, message: string): void => void lines.push({ fields, message })
    const logger: Logger = { debug: () => {}, info: () => {}, warn: note, error: note }
    const server = await serveAgentOs({ logger })
    const frames = await stream(server, '/agents/lab/runs', { message: 'text 1; circular' })
    expect(lines).toEqual([
      {
        message: 'run failed: event custom.emitted: data.value.value refers to an object that contains it (a cycle)',
        fields: expect.objectContaining({
          run: idsOf(frames).run,
          errorId: frames.at(-1)!.data['error_id'],
          details: expect.objectContaining({ event: 'custom.emitted', path: 'data.value.value' }),
        }),
      },
    ])
  })

  test('is told to a client that resumes, as it was told live', async () => {
    const server = await serveAgentOs()
    const live = await stream(server, '/agents/lab/runs', { message: 'text 2; function' })
    const resumed = await stream(server, `/agents/lab/runs/${idsOf(live).run}/resume`, {})
    expect(dataOf(resumed).map(({ text }) => text)).toEqual(live.map(({ text }) => text))
  })
})

test('O-4 an event without a name is framed as message', async () => {
  const server = await serveAgentOs()
  const frames = await stream(server, '/agents/nameless/runs', { message: 'go' })
  const custom = frames.filter(({ data }) => data['event'] === 'CustomEvent')
  expect(custom.map(({ event }) => event)).toEqual(['CustomEvent', 'message'])
  expect(custom.map(({ data }) => data['value'])).toEqual([{ lines: 'one\ntwo\n\nthree' }, 1])
})

test('O-5 a frame is its name, one line of compact JSON and a blank line; an id is all that is added', async () => {
  const server = await serveAgentOs()
  const response = await postForm(server, '/agents/nameless/runs', { message: 'go' })
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-cache, no-transform')
  expect(response.headers.get('x-accel-buffering')).toBe('no')
  const text = await response.text()
  expect(text).not.toContain('\r')
  const frames = framesIn(text)
  expect(indicesOf(frames)).toEqual(upTo(frames.length))
  for (const { data, event, text: frame } of frames)
    expect(frame).toBe(`id: ${String(data['event_index'])}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  expect(frames.map(({ text: frame }) => frame).join('')).toBe(text.replace(/^retry: \d+\n\n/, ''))
})

test('a quiet stream shows life with comments, which are no events', async () => {
  const server = await serveAgentOs({ limits: { heartbeatMs: 20 } })
  const response = await postForm(server, '/agents/lab/runs', { message: 'text 1; sleep 200; text 1' })
  const text = await response.text()
  expect(text).toContain('\n\n: heartbeat\n\n')
  expect(namesOf(framesIn(text)).filter((name) => name === 'RunContent')).toHaveLength(2)
})

test('values that JSON has no form for arrive in their documented form, and every frame is JSON', async () => {
  const server = await serveAgentOs()
  const frames = await stream(server, '/agents/lab/runs', { message: 'date; bytes; bigint; nan' })
  const values = frames.filter(({ data }) => data['event'] === 'CustomEvent').map(({ data }) => data['value'])
  expect(values[0]).toEqual({ value: '2001-02-03T04:05:06.789Z' })
  expect(values[2]).toEqual({ value: '18446744073709551616' })
  expect(values[3]).toEqual({ value: 'NaN' })
})
