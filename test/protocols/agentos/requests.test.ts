/** Accepted forms of requests, and responses to invalid ones. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKeys } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { framesIn, getJson, postForm, sendJson, serveAgentOs } from './serve.ts'

describe('AgentOS: a start', () => {
  test('accepts a urlencoded form, a multipart form and JSON', async () => {
    const server = await serveAgentOs()
    const multipart = new FormData()
    for (const [name, value] of Object.entries({ message: 'hello', stream: 'off' })) multipart.append(name, value)
    const forms = [
      await (await postForm(server, '/agents/echo/runs', { message: 'hello', stream: '0' })).json(),
      await (await postForm(server, '/agents/echo/runs', multipart)).json(),
      (await sendJson(server, 'POST', '/agents/echo/runs', { message: 'hello', stream: false })).body,
    ]
    for (const body of forms)
      expect(body).toMatchObject({ status: 'COMPLETED', content: { input: 'hello', metadata: {} } })
  })

  test('passes on files, uploaded or by URL, with their types', async () => {
    const server = await serveAgentOs()
    const form = new FormData()
    form.append('message', 'look')
    form.append('stream', 'false')
    form.append('files', new File([new Uint8Array([1, 2, 3])], 'a.png', { type: 'image/png' }))
    form.append('files', new File(['x,y'], 'b.csv', { type: 'application/octet-stream' }))
    form.append('images', JSON.stringify([{ url: 'https://pictures.example/c.png' }]))
    const { content } = (await (await postForm(server, '/agents/echo/runs', form)).json()) as {
      content: { input: unknown }
    }
    expect(content.input).toEqual({
      text: 'look',
      files: [
        { mediaType: 'image/png', data: 'AQID', name: 'a.png' },
        { mediaType: 'text/csv', data: 'eCx5', name: 'b.csv' },
        { mediaType: 'image', url: 'https://pictures.example/c.png' },
      ],
    })
    const refused = new FormData()
    refused.append('message', 'look')
    refused.append('files', new File(['x'], 'program.exe', { type: 'application/x-msdownload' }))
    const answer = await postForm(server, '/agents/echo/runs', refused)
    expect([answer.status, await answer.json()]).toMatchObject([400, { detail: 'Unsupported file type: program.exe' }])
  })

  test('accepts a run id of the client, which names the run everywhere and starts it once', async () => {
    const keys = join(temporaryFolder(), 'keys.json')
    const [ann, bob] = (await createKeys(keys, ['ann', 'bob'])) as [string, string]
    const server = await serveAgentOs({ auth: { keys } })
    const form = { stream: 'false', run_id: 'mine', session_id: 's' }
    const start = (token: string, message = 'hello') =>
      postForm(server, '/agents/echo/runs', { ...form, message }, { token })
    const first = (await (await start(ann)).json()) as Record<string, unknown>
    expect(first).toMatchObject({ run_id: 'mine', status: 'COMPLETED', content: { input: 'hello' } })
    expect(await (await start(ann)).json()).toMatchObject({
      created_at: first['created_at'],
      content: first['content'],
    })
    expect((await start(ann, 'another message')).status).toBe(409)
    const get = (token: string) =>
      fetch(`${server.url}/agents/echo/runs/mine?session_id=s`, { headers: { authorization: `Bearer ${token}` } })
    expect(await (await get(ann)).json()).toMatchObject({ run_id: 'mine', status: 'COMPLETED' })
    expect((await get(bob)).status).toBe(404)
    expect(await (await start(bob, 'of bob')).json()).toMatchObject({ run_id: 'mine', content: { input: 'of bob' } })
    const resumed = await postForm(server, '/agents/echo/runs/mine/resume', { session_id: 's' }, { token: ann })
    const frames = framesIn(await resumed.text())
    expect(new Set(frames.map(({ data }) => data['run_id']))).toEqual(new Set(['mine']))
    expect(frames.at(-1)?.event).toBe('RunCompleted')
  })

  test('passes the other fields of the request to the component', async () => {
    const server = await serveAgentOs()
    const response = await postForm(server, '/agents/echo/runs', {
      message: 'x',
      stream: 'false',
      user_id: 'ann',
      session_state: '{"a":1}',
      dependencies: '{"b":2}',
      metadata: '{"c":3}',
      tone: 'formal',
    })
    const { content, user_id: user } = (await response.json()) as { content: { metadata: unknown }; user_id: string }
    expect(content.metadata).toEqual({
      c: 3,
      agentos: { user_id: 'ann', session_state: { a: 1 }, dependencies: { b: 2 }, tone: 'formal' },
    })
    expect(user).toBe('ann')
  })

  test('is rejected if any field cannot be parsed, and starts nothing', async () => {
    const server = await serveAgentOs()
    for (const [fields, status, detail] of [
      [{}, 422, [{ loc: ['body', 'message'], type: 'missing' }]],
      [{ message: 'x', stream: 'maybe' }, 422, [{ loc: ['body', 'stream'], type: 'bool_parsing' }]],
      [{ message: 'x', on_disconnect: 'explode' }, 422, [{ loc: ['body', 'on_disconnect'] }]],
      [{ message: 'x', session_state: '{' }, 400, expect.stringContaining('session_state is not JSON')],
      [{ message: 'x', metadata: '[1]' }, 400, 'metadata must be a JSON object'],
      [{ message: 'x', images: '[{}]' }, 400, expect.stringContaining('images[0]')],
      [{ message: 'x', session_id: 'x'.repeat(300) }, 422, [{ loc: ['body', 'session_id'] }]],
    ] as const) {
      const response = await postForm(server, '/agents/echo/runs', fields)
      expect(response.status).toBe(status)
      expect(await response.json()).toMatchObject({ detail })
    }
    const refused = await postForm(server, '/agents/lab/runs', { message: 'no such statement' })
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { detail: expect.stringContaining('character') },
    ])
    expect((await getJson(server, '/sessions')).body.data).toEqual([])
  })

  test('is rejected if its body is too large or not a form', async () => {
    const server = await serveAgentOs({ limits: { maxBodyBytes: 1000 } })
    expect((await postForm(server, '/agents/echo/runs', { message: 'x'.repeat(2000) })).status).toBe(413)
    const send = (type: string, body: string): Promise<Response> =>
      fetch(`${server.url}/agents/echo/runs`, { method: 'POST', headers: { 'content-type': type }, body })
    for (const [type, body] of [
      ['multipart/form-data; boundary=x', 'not a form'],
      ['text/plain', 'message=x'],
      ['application/json', '[1]'],
      ['application/json', '{'],
    ] as const) {
      const response = await send(type, body)
      expect([response.status, await response.json()]).toMatchObject([400, { detail: expect.any(String) }])
    }
  })
})

describe('AgentOS: the server', () => {
  test('describes itself, its components and its authentication', async () => {
    const server = await serveAgentOs()
    expect((await getJson(server, '/health')).body).toMatchObject({
      status: 'ok',
      instantiated_at: expect.stringMatching(/Z$/),
    })
    expect((await getJson(server, '/info')).body).toMatchObject({
      auth_mode: 'none',
      team_count: 2,
      mcp: { enabled: false },
    })
    const { body } = await getJson(server, '/config')
    expect(body).toMatchObject({ databases: ['holdfast'], session: { dbs: [{ db_id: 'holdfast' }] }, interfaces: [] })
    expect(body.workflows.map(({ id }: { id: string }) => id)).toContain('publish')
    expect((await getJson(server, '/models')).body).toContainEqual({ id: 'clerk-model', provider: 'holdfast' })
    expect((await getJson(server, '/teams/newsroom')).body).toMatchObject({
      mode: 'coordinate',
      model: { model: 'editor' },
      members: [{ id: 'harbour', model: { model: 'harbour-model' } }, { id: 'weather' }],
    })
  })

  test('reports unknown routes in the same error form', async () => {
    const server = await serveAgentOs()
    for (const path of ['/memories', '/knowledge/content/1/status', '/eval-runs', '/traces/1', '/schedules'])
      expect(await getJson(server, path)).toMatchObject({
        status: 404,
        body: { detail: expect.stringContaining('not supported') },
      })
  })
})
