/** `/approvals`: pending approvals, and decisions that take effect at once. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createKeys } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { type AgentOsServer, getJson, idsOf, postForm, sendJson, serveAgentOs, stream } from './serve.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- bodies of JSON responses
type Body = any

async function paused(server: AgentOsServer, fields: Record<string, string> = {}): Promise<Body> {
  const response = await postForm(server, '/agents/clerk/runs', { message: 'send', stream: 'false', ...fields })
  return response.json()
}

async function listed(server: AgentOsServer, query = ''): Promise<Body> {
  return (await getJson(server, `/approvals${query}`)).body
}

async function continued(server: AgentOsServer, run: Body, more: Record<string, string> = {}): Promise<Response> {
  const fields = { session_id: run.session_id, stream: 'false', ...more }
  return postForm(server, `/agents/clerk/runs/${run.run_id}/continue`, fields)
}

test('AgentOS approvals: a paused run is listed with its tool, and filters choose among runs', async () => {
  const server = await serveAgentOs()
  const first = await paused(server, { user_id: 'ann' })
  const second = await paused(server)
  const all = await listed(server)
  expect(all.meta).toEqual({ page: 1, limit: 100, total_pages: 1, total_count: 2 })
  expect(all.data.map(({ run_id: run }: Body) => run)).toEqual([second.run_id, first.run_id])
  expect(all.data[1]).toMatchObject({
    status: 'pending',
    approval_type: 'required',
    tool_name: 'send',
    tool_args: { to: 'Ada', amount: 25 },
    agent_id: 'clerk',
    user_id: 'ann',
    run_status: 'PAUSED',
    resolved_by: null,
  })
  const count = async (query: string): Promise<number> => (await listed(server, query)).data.length
  expect(await count(`?run_id=${first.run_id}&status=pending&approval_type=required`)).toBe(1)
  expect(await count('?user_id=ann')).toBe(1)
  expect(await count('?agent_id=lab')).toBe(0)
  expect(await count('?team_id=clerk')).toBe(0)
  expect(await count('?status=approved')).toBe(0)
  expect(await count('?run_id=run_unknown')).toBe(0)
  expect(await count('?limit=1&page=2')).toBe(1)
  expect((await getJson(server, '/approvals/count')).body).toEqual({ count: 2 })
  expect((await getJson(server, '/approvals?limit=0')).status).toBe(422)
})

test('AgentOS approvals: an approval lets the run go on at once, and /continue responds with the rest of it', async () => {
  const server = await serveAgentOs()
  const run = await paused(server)
  const [{ id }] = (await listed(server)).data
  const resolved = await sendJson(server, 'POST', `/approvals/${id}/resolve`, { status: 'approved' })
  expect([resolved.status, resolved.body.status, resolved.body.run_id]).toEqual([200, 'approved', run.run_id])
  expect(await (await continued(server, run)).json()).toMatchObject({
    status: 'COMPLETED',
    run_id: run.run_id,
    content: 'Done: Ada has 25 more.',
  })
  const frames = await (await continued(server, run, { stream: 'true' })).text()
  expect(frames).toMatch(/^[^]*event: RunContinued[^]*event: RunCompleted/)
  expect(frames).not.toContain('event: RunPaused')
  // Decided once: not again, and not by a list of tools.
  const again = await sendJson(server, 'POST', `/approvals/${id}/resolve`, { status: 'rejected' })
  expect([again.status, again.body.detail]).toEqual([409, "Approval is already 'approved' and cannot be resolved"])
  expect((await continued(server, run, { tools: '[]' })).status).toBe(409)
  expect((await listed(server)).data).toEqual([])
  expect((await listed(server, `?run_id=${run.run_id}`)).data).toMatchObject([{ id, status: 'approved' }])
  expect((await getJson(server, `/approvals/${id}/status`)).body).toMatchObject({
    approval_id: id,
    status: 'approved',
    resolved_at: expect.any(Number),
  })
})

test('AgentOS approvals: a rejection reaches the run with its reason', async () => {
  const server = await serveAgentOs()
  const run = await paused(server)
  const [{ id }] = (await listed(server)).data
  const body = { status: 'rejected', resolution_data: { reason: 'too much' } }
  expect((await sendJson(server, 'POST', `/approvals/${id}/resolve`, body)).body.status).toBe('rejected')
  expect(await (await continued(server, run)).json()).toMatchObject({
    status: 'COMPLETED',
    content: 'I have sent nothing.',
  })
  const log = await (await fetch(`${server.url}/runs/${run.run_id}/events`)).text()
  expect(log).toContain('"answers":')
  expect(log).toContain('too much')
})

test('AgentOS approvals: unknown ids and wrong decisions are refused', async () => {
  const server = await serveAgentOs()
  await paused(server)
  const [{ id }] = (await listed(server)).data
  for (const wrong of ['x', 'e30', `${id}x`, Buffer.from('["run_x","q"]').toString('base64url')])
    expect((await getJson(server, `/approvals/${wrong}`)).status).toBe(404)
  for (const body of [{}, { status: 'maybe' }])
    expect((await sendJson(server, 'POST', `/approvals/${id}/resolve`, body)).status).toBe(422)
  expect((await getJson(server, `/approvals/${id}`)).body.status).toBe('pending')
})

test("[SEC-1] AgentOS approvals: another principal's approvals do not exist", async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const [ann, ben] = await createKeys(keys, ['ann', 'ben'])
  const server = await serveAgentOs({ auth: { keys } })
  const as = (token: string, init: RequestInit = {}): RequestInit => ({
    ...init,
    headers: { ...(init.headers as Record<string, string> | undefined), authorization: `Bearer ${token}` },
  })
  const { run } = idsOf(await stream(server, '/agents/clerk/runs', { message: 'send' }, { token: ann! }))
  const [{ id }] = (await getJson(server, '/approvals', as(ann!))).body.data
  expect((await getJson(server, '/approvals', as(ben!))).body.data).toEqual([])
  expect((await getJson(server, `/approvals?run_id=${run}`, as(ben!))).body.data).toEqual([])
  expect((await getJson(server, '/approvals/count', as(ben!))).body).toEqual({ count: 0 })
  const decision = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"status":"approved"}' }
  for (const [path, init] of [
    [`/approvals/${id}`, {}],
    [`/approvals/${id}/status`, {}],
    [`/approvals/${id}/resolve`, decision],
  ] as const)
    expect((await getJson(server, path, as(ben!, init))).status).toBe(404)
  expect((await getJson(server, `/approvals/${id}`, as(ann!))).body.status).toBe('pending')
})
