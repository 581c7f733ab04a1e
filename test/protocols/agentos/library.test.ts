/** Requests that agno's client library makes and that no other client does. */
import { expect, test } from 'vitest'
import { getJson, idsOf, postForm, serveAgentOs, stream } from './serve.ts'

test('AgentOS: files in JSON are text if their type is, and base64 otherwise', async () => {
  const server = await serveAgentOs()
  const send = (files: unknown): Promise<Response> =>
    postForm(server, '/agents/echo/runs', { message: 'look', stream: 'false', input_files: JSON.stringify(files) })
  const answer = await send([
    { id: '1', mime_type: 'text/csv', filename: 'table.csv', content: 'a,b\n1,2\n' },
    { id: '2', mime_type: 'text/plain', content: 'TestData' },
    { id: '3', mime_type: 'application/pdf', filename: 'a.pdf', content: 'AQID' },
  ])
  const { content } = (await answer.json()) as { content: { input: { files: unknown } } }
  expect(content.input.files).toEqual([
    { mediaType: 'text/csv', data: Buffer.from('a,b\n1,2\n').toString('base64'), name: 'table.csv' },
    { mediaType: 'text/plain', data: Buffer.from('TestData').toString('base64') },
    { mediaType: 'application/pdf', data: 'AQID', name: 'a.pdf' },
  ])
  const refused = await send([{ mime_type: 'application/pdf', content: 'not base64' }])
  expect([refused.status, await refused.json()]).toEqual([
    400,
    expect.objectContaining({ detail: 'input_files[0] needs a url or its content in base64' }),
  ])
})

test('AgentOS: the runs of a session have truncated previews, and are filtered by any of several statuses', async () => {
  const server = await serveAgentOs()
  const { run, session } = idsOf(await stream(server, '/agents/lab/runs', { message: 'big 1', user_id: 'ann' }))
  await stream(server, '/agents/lab/runs', { message: 'text 1; throw boom', session_id: session })
  const previews = async (query: string): Promise<{ status: string; content_preview: string }[]> =>
    (await getJson(server, `/sessions/${session}/run-previews${query}`)).body
  const [first, second] = await previews('')
  expect(first).toEqual({
    run_id: run,
    agent_id: 'lab',
    user_id: 'ann',
    status: 'COMPLETED',
    run_input: 'big 1',
    content_preview: expect.stringMatching(/^.{280}$/s),
    created_at: expect.stringMatching(/Z$/),
  })
  expect(second).toMatchObject({ status: 'ERROR', content_preview: 'boom' })
  expect((await previews('?status=error')).map(({ status }) => status)).toEqual(['ERROR'])
  expect(await previews('?status=error&status=completed')).toHaveLength(2)
  const { body: runs } = await getJson(server, `/sessions/${session}/runs?status=completed`)
  expect(runs).toMatchObject([{ run_id: run }])
  expect((await getJson(server, '/sessions/unknown/run-previews')).status).toBe(404)
})

test('AgentOS: the tokens of a workflow are reported by step, as the agno library reads them', async () => {
  const server = await serveAgentOs()
  const form = { message: 'text 1; usage 7 3' }
  const frames = await stream(server, '/workflows/lab-workflow/runs', form)
  const answer = (await (
    await postForm(server, '/workflows/lab-workflow/runs', { ...form, stream: 'false' })
  ).json()) as object
  for (const run of [frames.at(-1)!.data, answer])
    expect(run).toMatchObject({
      metrics: {
        total_tokens: 10,
        steps: {
          script: { step_name: 'script', executor_type: 'agent', executor_name: 'Lab', metrics: { total_tokens: 10 } },
        },
      },
    })
  expect(frames.at(-1)!.event).toBe('WorkflowCompleted')
})

test('AgentOS: the configuration names no models, since no form of them is read by both versions of the library', async () => {
  const server = await serveAgentOs()
  const { body: models } = await getJson(server, '/models')
  expect(models).not.toEqual([])
  expect((await getJson(server, '/config')).body).not.toHaveProperty('available_models')
})
