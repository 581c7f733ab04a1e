/** Runs of the three families, with the four ways to request them. */
import { describe, expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import { until } from '../../support/until.ts'
import {
  cutAfter,
  dataOf,
  framesIn,
  getJson,
  idsOf,
  indicesOf,
  META,
  namesOf,
  postForm,
  serveAgentOs,
  stream,
  upTo,
} from './serve.ts'

const families = [
  { kind: 'agent', path: '/agents/lab', id: 'agent_id' },
  { kind: 'team', path: '/teams/lab-team', id: 'team_id' },
  { kind: 'workflow', path: '/workflows/lab-workflow', id: 'workflow_id' },
] as const

describe('AgentOS: listing components', () => {
  test('O-19 GET /teams returns an array, whose first element has an id that can be run', async () => {
    const server = await serveAgentOs()
    const { status, body } = await getJson(server, '/teams')
    expect(status).toBe(200)
    expect(body[0]).toMatchObject({ id: 'lab-team', name: 'Lab' })
    expect(namesOf(await stream(server, `/teams/${body[0].id}/runs`, { message: 'text 1' })).at(-1)).toBe(
      'TeamRunCompleted',
    )
  })

  test('each family lists its own, a trailing slash changes nothing, and other families are unknown', async () => {
    const server = await serveAgentOs()
    const { body: agents } = await getJson(server, '/agents/')
    expect(agents.map(({ id }: { id: string }) => id)).toContain('lab')
    expect(agents.map(({ id }: { id: string }) => id)).not.toContain('newsroom')
    expect((await getJson(server, '/workflows/publish')).body).toMatchObject({
      id: 'publish',
      steps: expect.any(Array),
    })
    expect(await getJson(server, '/agents/newsroom')).toMatchObject({
      status: 404,
      body: { detail: 'Agent not found' },
    })
    expect(await getJson(server, '/teams/nobody')).toMatchObject({ status: 404, body: { detail: 'Team not found' } })
  })
})

describe('AgentOS: four ways to run', () => {
  for (const { path, id } of families) {
    for (const background of ['false', 'true']) {
      test(`[LOG-1] ${path} streamed with background=${background} is numbered from 0 without a gap`, async () => {
        const server = await serveAgentOs()
        const frames = await stream(server, `${path}/runs`, {
          message: 'text 3; tool search',
          stream: 'true',
          background,
        })
        expect(indicesOf(frames)).toEqual(upTo(frames.length))
        expect(frames.map((frame) => frame.id)).toEqual(upTo(frames.length).map(String))
        const { run_id: run, session_id: session, [id]: component } = frames[0]!.data
        expect([run, session, component]).toEqual([expect.any(String), expect.any(String), path.split('/')[2]])
        expect(namesOf(frames)[0]).toMatch(/Started$/)
        expect(namesOf(frames).at(-1)).toMatch(/^(Team)?RunCompleted$|^WorkflowCompleted$/)
      })
    }

    test(`${path} without streaming returns the whole run`, async () => {
      const server = await serveAgentOs()
      const response = await postForm(server, `${path}/runs`, { message: 'text 2', stream: 'false' })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({
        status: 'COMPLETED',
        content: '[0] kelp [1] tide ',
        run_id: expect.any(String),
        session_id: expect.any(String),
        [id]: path.split('/')[2],
      })
    })

    test(`[RUN-2] ${path} in the background is accepted with 202 and can be polled until it is done`, async () => {
      const server = await serveAgentOs()
      const response = await postForm(server, `${path}/runs`, {
        message: 'text 3',
        stream: 'false',
        background: 'true',
      })
      expect(response.status).toBe(202)
      const accepted = (await response.json()) as Record<string, string>
      expect(accepted).toEqual({
        run_id: expect.any(String),
        session_id: expect.any(String),
        status: expect.any(String),
      })
      const address = `${path}/runs/${accepted['run_id']}?session_id=${accepted['session_id']}`
      const done = await until('it is completed', async () => {
        const { body } = await getJson(server, address)
        return body.status === 'COMPLETED' && body
      })
      expect(done.content).toBe('[0] kelp [1] tide [2] anchor ')
    })
  }

  test('a failed run without streaming is reported by its status, and on request by the HTTP status', async () => {
    const server = await serveAgentOs()
    const reported = await postForm(server, '/agents/lab/runs', { message: 'text 1; throw boom', stream: 'false' })
    expect(reported.status).toBe(200)
    expect(await reported.json()).toMatchObject({ status: 'ERROR', content: 'boom', error_type: 'agent_failed' })
    const asked = { message: 'text 1; throw boom', stream: 'false', http_errors: 'true' }
    const byStatus = await postForm(server, '/agents/lab/runs', asked)
    expect(byStatus.status).toBe(502)
    expect(await byStatus.json()).toMatchObject({ status: 'ERROR', content: 'boom', error_id: expect.any(String) })
  })

  test('clients that want no other events get only content, numbered from 0', async () => {
    const server = await serveAgentOs()
    const frames = await stream(server, '/agents/lab/runs', { message: 'text 3; tool x', stream_events: 'false' })
    expect(namesOf(frames)).toEqual(['RunContent', 'RunContent', 'RunContent'])
    expect(indicesOf(frames)).toEqual([0, 1, 2])
    const resumed = await stream(server, `/agents/lab/runs/${idsOf(frames).run}/resume`, { last_event_index: '0' })
    expect(indicesOf(resumed)).toEqual([1, 2])
  })
})

describe('AgentOS: the order of events', () => {
  test('an agent that reasons, emits text and uses a tool that fails sends its events in order', async () => {
    const server = await serveAgentOs()
    const frames = await stream(server, '/agents/lab/runs', { message: 'reason 1; text 1; tool x fail; usage 1 2' })
    expect(namesOf(frames)).toEqual([
      'RunStarted',
      'ReasoningStarted',
      'ReasoningContentDelta',
      'ReasoningCompleted',
      'RunContent',
      'ToolCallStarted',
      'ToolCallCompleted',
      'ToolCallError',
      'ModelRequestStarted',
      'ModelRequestCompleted',
      'RunContentCompleted',
      'RunCompleted',
    ])
    expect(frames.at(-1)!.data).toMatchObject({ content: '[0] kelp ', reasoning_content: '[0] kelp ' })
    expect(frames.at(-3)!.data).toMatchObject({ input_tokens: 1, output_tokens: 2, total_tokens: 3 })
    expect(frames[6]!.data['tool']).toMatchObject({ tool_call_error: true, tool_name: 'x' })
  })

  test("a team: members have run ids below the team's, and their answers are part of its own", async () => {
    const server = await serveAgentOs()
    const frames = await stream(server, '/teams/newsroom/runs', { message: 'the sea' })
    const { run } = idsOf(frames)
    const members = frames.filter(({ data }) => data['agent_id'] !== undefined)
    expect(new Set(members.map(({ data }) => data['parent_run_id']))).toEqual(new Set([run]))
    expect(new Set(members.map(({ data }) => data['run_id'])).size).toBe(2)
    const names = namesOf(frames)
    expect(names.slice(0, 4)).toEqual([
      'TeamRunStarted',
      'TeamModelRequestStarted',
      'TeamModelRequestCompleted',
      'TeamToolCallStarted',
    ])
    expect(names.filter((name) => name === 'RunCompleted')).toHaveLength(2)
    const done = frames.filter(({ data }) => data['event'] === 'TeamToolCallCompleted').map(({ data }) => data['tool'])
    expect(done).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          tool_args: expect.objectContaining({ member_id: 'harbour' }),
          child_run_id: expect.stringContaining('harbour'),
        }),
      ]),
    )
    expect(frames.at(-1)!.data).toMatchObject({
      content: 'Tonight: From the harbour: the sea is well. From the weather: the sea is well.',
      member_responses: [
        { agent_id: 'harbour', status: 'COMPLETED', parent_run_id: run },
        { agent_id: 'weather', status: 'COMPLETED' },
      ],
    })
  })

  test('a workflow with every kind of block sends its events in order', async () => {
    const server = await serveAgentOs()
    const frames = await stream(server, '/workflows/publish/runs', { message: 'kelp' })
    const { run } = idsOf(frames)
    const blocks = namesOf(frames).filter((name) => /Execution|Iteration|^Workflow/.test(name))
    expect(blocks).toEqual([
      'WorkflowStarted',
      'ParallelExecutionStarted',
      'ParallelExecutionCompleted',
      'LoopExecutionStarted',
      'LoopIterationStarted',
      'LoopIterationCompleted',
      'LoopIterationStarted',
      'LoopIterationCompleted',
      'LoopExecutionCompleted',
      'ConditionExecutionStarted',
      'ConditionExecutionCompleted',
      'RouterExecutionStarted',
      'StepsExecutionStarted',
      'StepsExecutionCompleted',
      'RouterExecutionCompleted',
      'WorkflowCompleted',
    ])
    const of = (name: string): Record<string, unknown>[] =>
      frames.filter(({ data }) => data['event'] === name).map(({ data }) => ({ ...data }))
    expect(of('StepStarted').map((data) => data['step_index'])).toEqual([0, [1, 0], [1, 1], 2, 0, 0, 0, 0])
    expect(of('ConditionExecutionCompleted')[0]).toMatchObject({
      condition_result: true,
      branch: 'if',
      executed_steps: 1,
    })
    expect(of('RouterExecutionStarted')[0]).toMatchObject({ selected_steps: ['paper'] })
    expect(of('LoopExecutionCompleted')[0]).toMatchObject({ total_iterations: 2, max_iterations: 3 })
    expect(of('LoopIterationCompleted').map((data) => data['should_continue'])).toEqual([true, false])
    expect(of('RunContent')[0]).toMatchObject({
      workflow_id: 'publish',
      workflow_run_id: run,
      step_name: 'outline',
      step_index: 0,
    })
    expect(frames.at(-1)!.data).toMatchObject({
      content: expect.stringMatching(/^Printed: /),
      step_results: expect.any(Array),
    })
  })
})

describe('AgentOS: a run and its client', () => {
  test('O-20 O-21 O-22 O-23 a client that reconnects gets missed events first, then new ones, each once', async () => {
    const proceed = Promise.withResolvers<void>()
    const talking: Component = {
      id: 'talking-team',
      kind: 'team',
      async *run() {
        for (let n = 0; n < 30; n++) {
          yield `[${n}]`
          if (n === 19) await proceed.promise
        }
      },
    }
    const server = await serveAgentOs({ components: [talking] })
    const path = '/teams/talking-team/runs'
    const fields = { message: 'go', stream: 'true', background: 'true' }
    const before = await cutAfter(server, path, fields, 6)
    expect(before.every(({ data }) => data['event'] && data['run_id'] && data['session_id'])).toBe(true)
    expect(indicesOf(before)).toEqual(upTo(6))
    const { run, session } = idsOf(before)
    await until('the run has emitted [19]', async () => {
      const { body } = await getJson(server, `${path}/${run}?session_id=${session}`)
      return String(body.content).includes('[19]')
    })
    const resume = { last_event_index: '5', session_id: session }
    const response = await postForm(server, `${path}/${run}/resume`, resume)
    let text = ''
    // Nothing new arrives before the `subscribed` message: missed events come first.
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (text.includes('event: subscribed')) proceed.resolve()
    }
    const after = framesIn(text)
    const names = namesOf(after)
    const missed = names.indexOf('subscribed') - 1
    expect(names.filter((name) => META.includes(name))).toEqual(['catch_up', 'subscribed'])
    expect(names[0]).toBe('catch_up')
    expect(after[0]!.data).toMatchObject({ run_id: run, missed_events: missed })
    expect(indicesOf(after)[0]).toBe(6)
    expect(missed).toBe(indicesOf([...before, ...after.slice(0, missed + 1)]).length - 6)
    const all = [...before, ...dataOf(after)]
    expect(indicesOf(all)).toEqual(upTo(all.length))
    expect(names.at(-1)).toBe('TeamRunCompleted')
    expect(namesOf(all).filter((name) => name === 'TeamRunContent')).toHaveLength(30)
    const replayed = await stream(server, `${path}/${run}/resume`, resume)
    expect(namesOf(replayed).filter((name) => META.includes(name))).toEqual(['replay'])
    expect(dataOf(replayed).map(({ text: frame }) => frame)).toEqual(dataOf(after).map(({ text: frame }) => frame))
  })

  for (const { path } of families) {
    test(`[RUN-2] a foreground run of ${path} continues when its client leaves`, async () => {
      const server = await serveAgentOs()
      const before = await cutAfter(server, `${path}/runs`, { message: 'text 20 every 5' }, 3)
      const { run, session } = idsOf(before)
      const done = await until('it is over', async () => {
        const { body } = await getJson(server, `${path}/runs/${run}?session_id=${session}`)
        return body.status !== 'RUNNING' && body
      })
      expect(done).toMatchObject({ status: 'COMPLETED', content: expect.stringContaining('[19]') })
    })
  }

  test('on_disconnect=cancel, by the request or by the component, stops the run of a client that leaves', async () => {
    const fragile = agent<unknown>({
      id: 'fragile',
      onDisconnect: 'stop',
      async *run(_input, { sleep }) {
        yield 'begun'
        await sleep(600_000)
      },
    })
    const server = await serveAgentOs({ components: [fragile] })
    const runs = [
      await cutAfter(server, '/agents/lab/runs', { message: 'text 1; hang', on_disconnect: 'cancel' }, 2),
      await cutAfter(server, '/agents/fragile/runs', { message: 'go' }, 2),
    ]
    for (const frames of runs) {
      const { run, session } = idsOf(frames)
      const component = frames[0]!.data['agent_id']
      await until('it is cancelled', async () => {
        const { body } = await getJson(server, `/agents/${String(component)}/runs/${run}?session_id=${session}`)
        return body.status === 'CANCELLED'
      })
    }
    const kept = await cutAfter(server, '/agents/fragile/runs', { message: 'go', on_disconnect: 'continue' }, 2)
    const { run, session } = idsOf(kept)
    expect((await getJson(server, `/agents/fragile/runs/${run}?session_id=${session}`)).body.status).toBe('RUNNING')
  })

  test('[RUN-4] a start that is repeated with its key is one run', async () => {
    const server = await serveAgentOs()
    const send = (message: string): Promise<Response> =>
      postForm(server, '/agents/lab/runs', { message }, { headers: { 'idempotency-key': 'k' } })
    const first = framesIn(await (await send('text 2')).text())
    const again = framesIn(await (await send('text 2')).text())
    expect(again.map(({ text }) => text)).toEqual(first.map(({ text }) => text))
    const other = await send('text 3')
    expect(other.status).toBe(409)
    expect(await other.json()).toMatchObject({ detail: expect.stringContaining('another body') })
  })
})

describe('AgentOS: cancelling', () => {
  for (const { path, kind } of families) {
    test(`[RUN-3] a cancelled ${kind} ends with its cancellation and never looks completed`, async () => {
      const server = await serveAgentOs()
      const before = await cutAfter(server, `${path}/runs`, { message: 'text 2; hang' }, 3)
      const { run, session } = idsOf(before)
      const following = stream(server, `${path}/runs/${run}/resume`, {})
      const cancelled = await postForm(server, `${path}/runs/${run}/cancel?session_id=${session}`, {})
      expect([cancelled.status, await cancelled.json()]).toEqual([200, {}])
      const names = namesOf(await following)
      expect(names.at(-1)).toMatch(/^(Team)?RunCancelled$|^WorkflowCancelled$/)
      expect(names.filter((name) => name.endsWith('RunCompleted') || name === 'WorkflowCompleted')).toEqual([])
      const replay = await stream(server, `${path}/runs/${run}/resume`, {})
      expect(replay[0]!.data).toMatchObject({ event: 'replay', status: 'CANCELLED' })
      // Again, and of what is finished: it changes nothing, and leaves nothing behind.
      expect((await postForm(server, `${path}/runs/${run}/cancel`, {})).status).toBe(200)
      expect((await stream(server, `${path}/runs/${run}/resume`, {})).map(({ text }) => text)).toEqual(
        replay.map(({ text }) => text),
      )
    })
  }

  test('a run that does not exist is rejected', async () => {
    const server = await serveAgentOs()
    const answer = await postForm(server, '/agents/lab/runs/nothing/cancel', {})
    expect([answer.status, await answer.json()]).toMatchObject([404, { detail: 'Run not found' }])
  })
})

test('AgentOS: a workflow that fails sends exactly one error, and nothing after it', async () => {
  const server = await serveAgentOs()
  const frames = await stream(server, '/workflows/lab-workflow/runs', { message: 'text 1; throw boom' })
  expect(namesOf(frames).slice(-3)).toEqual(['RunError', 'StepError', 'WorkflowError'])
  expect(namesOf(frames).filter((name) => name.startsWith('Workflow'))).toEqual(['WorkflowStarted', 'WorkflowError'])
})
