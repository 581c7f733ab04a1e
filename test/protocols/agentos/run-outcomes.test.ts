/** Outcomes and events of runs that other AgentOS servers get wrong. */
import { describe, expect, test } from 'vitest'
import { parallel, step, workflow } from '../../../src/agents/workflow/index.ts'
import { agent } from '../../../src/agents/agent.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import type { LoggedEvent } from '../../../src/core/model/event.ts'
import type { Run } from '../../../src/core/model/run.ts'
import { agentosProjection } from '../../../src/protocols/agentos/view/projection.ts'
import type { Frame } from '../../../src/protocols/agentos/view/frame-writer.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { cutAfter, getJson, idsOf, indicesOf, namesOf, postForm, serveAgentOs, stream, upTo } from './serve.ts'

test('AgentOS: a run whose completion was streamed is already completed when read', async () => {
  const server = await serveAgentOs({ store: await openSqliteStore({ path: temporaryDatabase() }) })
  for (const path of ['/agents/lab', '/teams/lab-team', '/workflows/lab-workflow']) {
    const frames = await stream(server, `${path}/runs`, { message: 'text 2' })
    const { run, session } = idsOf(frames)
    expect((await getJson(server, `${path}/runs/${run}?session_id=${session}`)).body.status).toBe('COMPLETED')
  }
})

test('AgentOS: a rejected task ends with an error of its family, and nothing after it', async () => {
  const server = await serveAgentOs()
  for (const [path, error] of [
    ['/agents/lab', 'RunError'],
    ['/teams/lab-team', 'TeamRunError'],
    ['/workflows/lab-workflow', 'WorkflowError'],
  ] as const) {
    const frames = await stream(server, `${path}/runs`, { message: 'text 1; reject not for me' })
    expect(frames.at(-1)!.data).toMatchObject({ event: error, error_type: 'rejected' })
    expect(namesOf(frames).filter((name) => /^(Team)?RunCompleted$|^WorkflowCompleted$/.test(name))).toEqual([])
    const replay = await stream(server, `${path}/runs/${idsOf(frames).run}/resume`, {})
    expect(replay[0]!.data).toMatchObject({ event: 'replay', status: 'ERROR' })
  }
})

test('AgentOS: a failed branch is an event, and so is the failure of its block', async () => {
  const broken: Component = workflow({
    id: 'broken',
    steps: [
      parallel({
        name: 'both',
        branches: [
          step({ name: 'good', run: (input: unknown) => input }),
          step({
            name: 'bad',
            run: () => {
              throw new Error('no luck')
            },
          }),
        ],
      }),
    ],
  })
  const server = await serveAgentOs({ components: [broken] })
  const frames = await stream(server, '/workflows/broken/runs', { message: 'x' })
  const errors = frames.filter(({ data }) => data['event'] === 'StepError').map(({ data }) => data)
  expect(errors).toMatchObject([
    { step_name: 'bad', step_index: [0, 1], error: 'no luck' },
    { step_name: 'both', step_index: 0, error: 'no luck' },
  ])
  expect(namesOf(frames).at(-1)).toBe('WorkflowError')
  const replay = await stream(server, `/workflows/broken/runs/${idsOf(frames).run}/resume`, { last_event_index: '2' })
  expect(indicesOf(replay)).toEqual(upTo(frames.length - 3, 3))
})

test('AgentOS: the events of a nested workflow are in the numbering and the replay of the outer one', async () => {
  const inner = workflow({ id: 'inner', steps: [step({ name: 'deep', run: (input: string) => `${input}!` })] })
  const outer: Component = workflow({ id: 'outer', steps: [step({ name: 'nested', run: inner })] })
  const server = await serveAgentOs({ components: [outer] })
  const frames = await stream(server, '/workflows/outer/runs', { message: 'hello' })
  expect(namesOf(frames)).toEqual([
    'WorkflowStarted',
    'StepStarted',
    'WorkflowStarted',
    'StepStarted',
    'StepOutput',
    'StepCompleted',
    'WorkflowCompleted',
    'StepCompleted',
    'WorkflowCompleted',
  ])
  expect(frames.map(({ data }) => data['nested_depth'])).toEqual([0, 0, 1, 1, 1, 1, 1, 0, 0])
  expect(frames[2]!.data).toMatchObject({ workflow_id: 'inner', parent_run_id: idsOf(frames).run })
  expect(indicesOf(frames)).toEqual(upTo(frames.length))
  const replay = await stream(server, `/workflows/outer/runs/${idsOf(frames).run}/resume`, {})
  expect(replay.slice(1).map(({ text }) => text)).toEqual(frames.map(({ text }) => text))
})

test('AgentOS: a delta has new content only, and the end of a team does not repeat its members’ text', async () => {
  const server = await serveAgentOs()
  const frames = await stream(server, '/agents/lab/runs', { message: 'reason 50; text 50' })
  const sizes = frames.filter(({ event }) => event === 'RunContent').map(({ text }) => text.length)
  expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(20)
  const team = await stream(server, '/teams/lab-team/runs', { message: 'text 50' })
  const [member] = team.at(-1)!.data['member_responses'] as object[]
  expect(member).toMatchObject({ agent_id: 'lab', content: expect.stringContaining('[49]') })
  expect(member).not.toHaveProperty('messages')
})

test('AgentOS: unexpected form fields become no arguments, and reach the component as data', async () => {
  const server = await serveAgentOs()
  const fields = { message: 'x', stream: 'false', yield_run_output: 'true', __proto__x: '1', constructor: 'y' }
  const response = await postForm(server, '/agents/echo/runs', fields)
  expect(await response.json()).toMatchObject({
    status: 'COMPLETED',
    content: { metadata: { agentos: { yield_run_output: 'true', constructor: 'y' } } },
  })
})

test('AgentOS: an exception reaches the client as message, type and id, without its stack', async () => {
  const failing = agent<unknown>({
    id: 'failing',
    async *run() {
      throw Object.assign(new TypeError('bad value'), { secret: 'of the process' })
    },
  })
  const server = await serveAgentOs({ components: [failing] })
  const frames = await stream(server, '/agents/failing/runs', { message: 'x' })
  expect(frames.at(-1)!.data).toMatchObject({
    content: 'bad value',
    error_type: 'agent_failed',
    error_id: expect.any(String),
    additional_data: { type: 'TypeError' },
  })
  expect(frames.at(-1)!.text).not.toMatch(/secret|\.ts:|node:/)
})

test('AgentOS: a server that shuts down during a non-streaming request tells the client that the run continues', async () => {
  const server = await serveAgentOs()
  const waiting = postForm(server, '/agents/lab-resume/runs', { message: 'text 1; hang', stream: 'false' })
  await cutAfter(server, '/agents/lab-resume/runs', { message: 'text 1; hang' }, 2)
  await server.close()
  const response = await waiting
  expect([response.status, await response.json()]).toMatchObject([503, { detail: expect.any(String) }])
})

describe('AgentOS: retracted output', () => {
  const run = { id: 'run_1', component: 'a', session: 's', createdAt: '2026-01-01T00:00:00.000Z' } as Run
  const log = (...events: readonly Pick<LoggedEvent, 'type' | 'data'>[]): LoggedEvent[] =>
    events.map((event, index) => ({ ...event, run: 'run_1', index, time: '2026-01-01T00:00:00.000Z' }) as LoggedEvent)

  function framesOf(events: readonly LoggedEvent[]): Frame[] {
    const projection = agentosProjection(() => undefined)
    let state = projection.initial(run)
    const frames: Frame[] = []
    for (const event of events) {
      const before = JSON.stringify([...state.speakers.values()])
      const projected = projection.apply(state, event)
      expect(JSON.stringify([...state.speakers.values()])).toBe(before) // the state that it was given is as it was
      frames.push(...projected.frames)
      state = projected.state
    }
    return frames
  }

  test('is reported with what remains, and is not part of the answer', () => {
    const frames = framesOf(
      log(
        { type: 'run.created', data: { component: 'a', input: 'x', session: 's' } },
        { type: 'run.started', data: { attempt: 1 } },
        { type: 'text.delta', data: { text: 'kept ' } },
        { type: 'tool.called', data: { call: 'c', name: 't', input: {}, key: 't' } },
        { type: 'tool.completed', data: { call: 'c', name: 't', output: 1, key: 't' } },
        { type: 'text.delta', data: { text: 'lost ' } },
        { type: 'reasoning.delta', data: { text: 'lost' } },
        { type: 'attempt.discarded', data: { attempt: 1, from: 3, scope: 'all', ledger: 'kept', reason: 'x' } },
        { type: 'run.started', data: { attempt: 2 } },
        { type: 'text.delta', data: { text: 'new' } },
        { type: 'run.completed', data: {} },
      ),
    )
    const names = frames.map(({ event }) => event)
    expect(names.filter((name) => name === 'RunStarted')).toHaveLength(1)
    const retracted = frames.find(({ data }) => data['name'] === 'output.withdrawn')
    expect(retracted!.data['value']).toMatchObject({ scope: 'all', content: 'kept ' })
    expect(frames.at(-1)!.data).toMatchObject({ event: 'RunCompleted', content: 'kept new' })
    expect(frames.at(-1)!.data).not.toHaveProperty('reasoning_content')
    expect(frames.map(({ index }) => index)).toEqual(upTo(frames.length))
  })

  test('a member’s retracted output leaves the output of others', () => {
    const actor = { component: 'm', run: 'run_1/m', parent: 'run_1', kind: 'agent' }
    const frames = framesOf(
      log(
        { type: 'run.created', data: { component: 'a', input: 'x', session: 's' } },
        { type: 'run.started', data: { attempt: 1 } },
        { type: 'actor.started', data: { input: 'y', key: 'm' }, actor } as never,
        { type: 'text.delta', data: { text: 'lost ' }, actor } as never,
        { type: 'text.delta', data: { text: 'own' } },
        {
          type: 'attempt.discarded',
          data: { attempt: 1, from: 2, scope: 'own', ledger: 'kept', reason: 'x' },
          actor,
        } as never,
        { type: 'text.delta', data: { text: 'again' }, actor } as never,
        { type: 'actor.completed', data: { key: 'm' }, actor } as never,
        { type: 'run.completed', data: {} },
      ),
    )
    const completed = frames.filter(({ event }) => event === 'RunCompleted').map(({ data }) => data['content'])
    expect(completed).toEqual(['again', 'own'])
  })
})
