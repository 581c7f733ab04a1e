/** All routes of `/sessions`, checkpoints, and forks. */
import { describe, expect, test } from 'vitest'
import { getJson, idsOf, postForm, sendJson, serveAgentOs, stream } from './serve.ts'

describe('AgentOS: a session', () => {
  test('begins with its first run, is named after its first message, and lists its runs', async () => {
    const server = await serveAgentOs()
    const { session } = idsOf(await stream(server, '/agents/lab/runs', { message: 'text 1', user_id: 'ann' }))
    await stream(server, '/agents/lab/runs', { message: 'text 2; throw boom', session_id: session })
    const { body } = await getJson(server, '/sessions')
    expect(body).toEqual({
      data: [
        {
          session_id: session,
          session_name: 'text 1',
          session_type: 'agent',
          agent_id: 'lab',
          user_id: 'ann',
          session_state: {},
          created_at: expect.stringMatching(/Z$/),
          updated_at: expect.stringMatching(/Z$/),
        },
      ],
      meta: { page: 1, limit: 20, total_pages: 1, total_count: 1, search_time_ms: expect.any(Number) },
    })
    const { body: runs } = await getJson(server, `/sessions/${session}/runs`)
    expect(runs).toMatchObject([
      { run_input: 'text 1', content: '[0] kelp ', status: 'COMPLETED', agent_id: 'lab' },
      { run_input: 'text 2; throw boom', content: 'boom', status: 'ERROR' },
    ])
    expect((await getJson(server, `/sessions/${session}/runs/${runs[0].run_id}`)).body).toEqual(runs[0])
    expect((await getJson(server, `/agents/lab/runs?session_id=${session}&status=ERROR`)).body).toMatchObject([
      { content: 'boom' },
    ])
    expect((await getJson(server, `/agents/lab-retry/runs?session_id=${session}`)).body).toEqual([])
    const { body: detail } = await getJson(server, `/sessions/${session}`)
    expect(detail).toMatchObject({ agent_session_id: session, agent_data: { agent_id: 'lab', name: 'Lab' } })
    expect(detail.chat_history.map(({ role }: { role: string }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ])
    const later = Math.ceil(Date.now() / 1000) + 100
    expect((await getJson(server, `/sessions/${session}/runs?created_after=${later}`)).body).toEqual([])
  })

  test('a session whose runs were trimmed is marked as incomplete [SUB-2]', async () => {
    const server = await serveAgentOs()
    const { session, run } = idsOf(await stream(server, '/agents/lab/runs', { message: 'text 1' }))
    expect((await getJson(server, `/sessions/${session}`)).body).not.toHaveProperty('events_trimmed')
    const { next } = (await server.store.get(run))!
    await server.store.trim(run, next - 1)
    expect((await getJson(server, `/sessions/${session}`)).body).toMatchObject({ events_trimmed: true })
  })

  test.each(['constructor', '__proto__', 'toString', 'id; DROP TABLE runs'])(
    'a listing with sort_by=%s is rejected before it reaches the store',
    async (order) => {
      const server = await serveAgentOs()
      const { status } = await getJson(server, `/sessions?sort_by=${encodeURIComponent(order)}`)
      expect(status).toBe(422)
    },
  )

  test('is created, renamed, changed and removed', async () => {
    const server = await serveAgentOs()
    const made = await sendJson(server, 'POST', '/sessions?type=team', {
      session_id: 's1',
      session_name: 'First',
      team_id: 'newsroom',
      user_id: 'ann',
      session_state: { step: 1 },
    })
    expect(made).toMatchObject({ status: 201, body: { session_id: 's1', session_name: 'First', team_id: 'newsroom' } })
    expect((await sendJson(server, 'POST', '/sessions', { session_id: 's1' })).status).toBe(409)
    expect((await sendJson(server, 'POST', '/sessions/s1/rename', { session_name: 'Second' })).body.session_name).toBe(
      'Second',
    )
    const changed = await sendJson(server, 'PATCH', '/sessions/s1', {
      session_state: { step: 2 },
      metadata: { tag: 'x' },
    })
    expect(changed).toMatchObject({
      status: 200,
      body: { session_name: 'Second', session_state: { step: 2 }, metadata: { tag: 'x' }, user_id: 'ann' },
    })
    expect((await getJson(server, '/sessions/s1?user_id=ben')).status).toBe(404)
    expect((await getJson(server, '/sessions/s1?type=agent')).status).toBe(404)
    await stream(server, '/teams/newsroom/runs', { message: 'the sea', session_id: 's1' })
    expect((await getJson(server, '/sessions/s1', { method: 'DELETE' })).status).toBe(204)
    expect(await getJson(server, '/sessions/s1')).toMatchObject({ status: 404, body: { detail: 'Session not found' } })
    expect((await getJson(server, '/sessions')).body.data).toEqual([])
  })

  test('is found among many by page, family, component, user and name', async () => {
    const server = await serveAgentOs()
    for (const number of [1, 2, 3, 4, 5]) {
      await stream(server, '/agents/lab/runs', {
        message: `text ${number}`,
        session_id: `a${number}`,
        user_id: number > 3 ? 'ann' : 'ben',
      })
    }
    await stream(server, '/workflows/publish/runs', { message: 'kelp', session_id: 'w1' })
    const ids = async (query: string): Promise<string[]> =>
      (await getJson(server, `/sessions?${query}`)).body.data.map(({ session_id: id }: { session_id: string }) => id)
    expect(await ids('limit=2')).toEqual(['w1', 'a5'])
    expect(await ids('limit=2&page=2')).toEqual(['a4', 'a3'])
    expect(await ids('limit=2&page=9')).toEqual([])
    expect(await ids('type=workflow')).toEqual(['w1'])
    expect(await ids('type=agent&limit=2&page=3')).toEqual(['a1'])
    expect(await ids('component_id=lab&sort_order=asc&limit=1')).toEqual(['a1'])
    expect(await ids('user_id=ann')).toEqual(['a5', 'a4'])
    expect(await ids('session_name=EXT%203')).toEqual(['a3'])
    expect((await getJson(server, '/sessions?limit=2')).body.meta).toMatchObject({ total_pages: 3, total_count: 6 })
    for (const query of ['limit=0', 'page=x', 'type=robot', 'type=constructor', 'sort_by=color', 'sort_order=up'])
      expect((await getJson(server, `/sessions?${query}`)).status).toBe(422)
  })

  test('is removed together with others, or none of them is', async () => {
    const server = await serveAgentOs()
    for (const id of ['s1', 's2', 's3']) await sendJson(server, 'POST', '/sessions', { session_id: id })
    const types = (count: number): string[] => Array.from({ length: count }, () => 'agent')
    expect(
      (await sendJson(server, 'DELETE', '/sessions', { session_ids: ['s1', 'no'], session_types: types(2) })).status,
    ).toBe(404)
    expect(
      (await sendJson(server, 'DELETE', '/sessions', { session_ids: ['s1'], session_types: types(2) })).status,
    ).toBe(400)
    expect((await getJson(server, '/sessions')).body.meta.total_count).toBe(3)
    expect(
      (await sendJson(server, 'DELETE', '/sessions', { session_ids: ['s1', 's2'], session_types: types(2) })).status,
    ).toBe(204)
    expect((await getJson(server, '/sessions')).body.data).toMatchObject([{ session_id: 's3' }])
  })

  test('keeps all of its runs when several are started at once', async () => {
    const server = await serveAgentOs()
    await Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        stream(server, '/agents/lab/runs', { message: `text ${number + 1}`, session_id: 's' }),
      ),
    )
    expect((await getJson(server, '/sessions/s/runs')).body).toHaveLength(8)
  })
})

describe('AgentOS: checkpoints', () => {
  test('are the positions between the messages of a run', async () => {
    const server = await serveAgentOs()
    const { run, session } = idsOf(await stream(server, '/agents/clerk/runs', { message: 'send' }))
    await stream(server, `/agents/clerk/runs/${run}/continue`, { tools: '[]', session_id: session })
    const address = `/agents/clerk/runs/${run}/checkpoints`
    const { body } = await getJson(server, `${address}?session_id=${session}`)
    // After a call and before its result is no position to continue from.
    expect(
      body.checkpoints.map((each: { message_role: string; message_index: number }) => [
        each.message_role,
        each.message_index,
      ]),
    ).toEqual([
      ['user', 1],
      ['tool', 3],
      ['tool', 5],
      ['assistant', 6],
    ])
    expect(body.checkpoints.at(-1)).toMatchObject({
      checkpoint_id: '4',
      is_latest: true,
      reason: 'end',
      continue_from: 6,
    })
    const one = await getJson(server, `${address}/4?session_id=${session}`)
    expect(one.body.snapshot.messages).toHaveLength(3)
    expect(one.body.checkpoint).toMatchObject({ message_index: 3, message_preview: '{"balance":120}' })
    expect((await getJson(server, `${address}/7?session_id=${session}`)).status).toBe(400)
    expect((await getJson(server, address)).status).toBe(422)
  })

  test('checkpoints of a fork include the runs that existed when it was made, and then its own', async () => {
    const server = await serveAgentOs()
    const { session } = idsOf(await stream(server, '/agents/lab/runs', { message: 'text 1' }))
    const fork = async (id: string): Promise<{ session_id: string; forked_from_session_id: string }> =>
      (await getJson(server, `/agents/lab/sessions/${id}/fork`, { method: 'POST' })).body
    const body = await fork(session)
    expect(body.forked_from_session_id).toBe(session)
    await stream(server, '/agents/lab/runs', { message: 'text 2', session_id: session })
    const again = await fork(body.session_id)
    await stream(server, '/agents/lab/runs', { message: 'text 3', session_id: body.session_id })
    const inputs = async (id: string): Promise<string[]> =>
      (await getJson(server, `/sessions/${id}/runs`)).body.map(({ run_input: input }: { run_input: string }) => input)
    expect(await inputs(session)).toEqual(['text 1', 'text 2'])
    expect(await inputs(body.session_id)).toEqual(['text 1', 'text 3'])
    expect(await inputs(again.session_id)).toEqual(['text 1'])
    expect((await postForm(server, `/agents/clerk/sessions/${session}/fork`, {})).status).toBe(404)
  })
})
