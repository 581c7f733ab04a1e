/** Paused runs, and their outcomes after they are continued. */
import { describe, expect, test } from 'vitest'
import { cutAfter, getJson, idsOf, indicesOf, namesOf, postForm, serveAgentOs, stream, upTo } from './serve.ts'

type Tool = Record<string, unknown>

describe('AgentOS: an agent', () => {
  test('an agent that needs a confirmation pauses with the tool, and calls it when the tool comes back confirmed', async () => {
    const server = await serveAgentOs()
    const paused = await stream(server, '/agents/clerk/runs', { message: 'send' })
    expect(namesOf(paused).slice(-2)).toEqual(['RunContentCompleted', 'RunPaused'])
    const { run, session } = idsOf(paused)
    const tools = paused.at(-1)!.data['tools'] as Tool[]
    expect(tools).toMatchObject([
      { tool_name: 'send', tool_args: { to: 'Ada', amount: 25 }, requires_confirmation: true },
    ])
    expect(paused.at(-1)!.data['requirements']).toMatchObject([{ tool_execution: { tool_name: 'send' } }])
    const confirmed = JSON.stringify(tools.map((tool) => ({ ...tool, confirmed: true })))
    const frames = await stream(server, `/agents/clerk/runs/${run}/continue`, { tools: confirmed, session_id: session })
    expect(namesOf(frames).slice(0, 3)).toEqual(['RunContinued', 'ToolCallStarted', 'ToolCallCompleted'])
    expect(frames.at(-1)!.data).toMatchObject({ event: 'RunCompleted', run_id: run, content: 'Done: Ada has 25 more.' })
    expect(indicesOf([...paused, ...frames])).toEqual(upTo(paused.length + frames.length))
  })

  test('an empty list of tools rejects the unconfirmed tools', async () => {
    const server = await serveAgentOs()
    const { run, session } = idsOf(await stream(server, '/agents/clerk/runs', { message: 'send' }))
    const fields = { tools: '[]', session_id: session, stream: 'false' }
    const response = await postForm(server, `/agents/clerk/runs/${run}/continue`, fields)
    expect(await response.json()).toMatchObject({ status: 'COMPLETED', content: 'I have sent nothing.' })
  })

  test('a run that was not streamed responds as paused, and can be continued in the background', async () => {
    const server = await serveAgentOs()
    const paused = await postForm(server, '/agents/clerk/runs', { message: 'send', stream: 'false' })
    const body = (await paused.json()) as { run_id: string; session_id: string; status: string; tools: Tool[] }
    expect(body).toMatchObject({ status: 'PAUSED', tools: [{ tool_name: 'send' }] })
    const fields = { tools: '[]', session_id: body.session_id, stream: 'false', background: 'true' }
    const accepted = await postForm(server, `/agents/clerk/runs/${body.run_id}/continue`, fields)
    expect(accepted.status).toBe(202)
    expect(await accepted.json()).toMatchObject({ run_id: body.run_id, session_id: body.session_id })
    const frames = await stream(server, `/agents/clerk/runs/${body.run_id}/resume`, {})
    expect(namesOf(frames).at(-1)).toBe('RunCompleted')
  })

  test('an agent that asks a question receives the filled-in field, or the input', async () => {
    const server = await serveAgentOs()
    for (const answer of ['field', 'input'] as const) {
      const paused = await stream(server, '/agents/lab/runs', { message: 'ask How many?; text 1' })
      const { run, session } = idsOf(paused)
      const [tool] = paused.at(-1)!.data['tools'] as Tool[]
      const [field] = tool!['user_input_schema'] as object[]
      expect(field).toEqual({ name: 'answer', field_type: 'str', description: 'How many?', value: null })
      const filled = JSON.stringify([{ ...tool, user_input_schema: [{ ...field, value: 'seven' }] }])
      const fields = answer === 'field' ? { tools: filled } : { tools: '[]', input: 'seven' }
      const frames = await stream(server, `/agents/lab/runs/${run}/continue`, { ...fields, session_id: session })
      const custom = frames.find(({ data }) => data['event'] === 'CustomEvent')
      expect(custom!.data).toMatchObject({ name: 'answer', value: 'seven' })
    }
  })

  test('cannot be continued without an answer, without its session, or when it does not wait', async () => {
    const server = await serveAgentOs()
    const { run, session } = idsOf(await stream(server, '/agents/lab/runs', { message: 'ask How many?' }))
    const address = `/agents/lab/runs/${run}/continue`
    const refused = async (path: string, fields: Record<string, string>): Promise<unknown[]> => {
      const response = await postForm(server, path, fields)
      return [response.status, ((await response.json()) as { detail: unknown }).detail]
    }
    expect(await refused(address, { tools: '[]', session_id: session })).toEqual([
      400,
      expect.stringContaining('How many?'),
    ])
    expect(await refused(address, { session_id: session })).toEqual([400, expect.stringContaining('tools is required')])
    expect(await refused(address, { tools: '[]' })).toEqual([400, 'session_id is required for this action'])
    expect(await refused(address, { tools: '[{', session_id: session })).toEqual([
      400,
      expect.stringContaining('is not JSON'),
    ])
    expect(await refused(address, { tools: '[]', session_id: session, continue_from: '3' })).toEqual([
      409,
      expect.stringContaining('needs fork=true'),
    ])
    expect((await getJson(server, `/agents/lab/runs/${run}?session_id=${session}`)).body.status).toBe('PAUSED')
    const going = idsOf(await cutAfter(server, '/agents/lab/runs', { message: 'text 1; hang' }, 2))
    const other = { tools: '[]', session_id: going.session }
    expect(await refused(`/agents/lab/runs/${going.run}/continue`, other)).toEqual([409, 'run is already running'])
    for (const [message, detail] of [
      ['text 1', 'run is already completed'],
      ['throw x', 'run has errored'],
    ] as const) {
      const over = idsOf(await stream(server, '/agents/lab/runs', { message }))
      const again = { tools: '[]', session_id: over.session }
      expect(await refused(`/agents/lab/runs/${over.run}/continue`, again)).toEqual([
        409,
        expect.stringContaining(detail),
      ])
    }
  })

  test('a finished run continues as another run of its session, which names the first', async () => {
    const server = await serveAgentOs()
    const { run, session } = idsOf(await stream(server, '/agents/lab/runs', { message: 'text 1' }))
    const address = `/agents/lab/runs/${run}/continue`
    const next = await stream(server, address, { input: 'text 2', tools: '[]', session_id: session })
    expect(idsOf(next)).toEqual({ run: expect.not.stringMatching(run), session })
    expect(namesOf(next).filter((name) => name === 'RunContent')).toHaveLength(2)
    const again = await postForm(server, address, { regenerate: 'true', session_id: session, stream: 'false' })
    expect(await again.json()).toMatchObject({
      content: '[0] kelp ',
      regenerated_from: run,
      status: 'COMPLETED',
    })
    // A finished log accepts no more events, so the first run is unchanged.
    const first = await stream(server, `/agents/lab/runs/${run}/resume`, {})
    expect(first[0]!.data).toMatchObject({ status: 'COMPLETED' })
  })
})

test('AgentOS: a team whose member asks is continued by its requirements', async () => {
  const server = await serveAgentOs()
  const paused = await stream(server, '/teams/lab-team/runs', { message: 'ask How many?; text 1' })
  expect(namesOf(paused).at(-1)).toBe('TeamRunPaused')
  const { run, session } = idsOf(paused)
  const [requirement] = paused.at(-1)!.data['requirements'] as Tool[]
  expect(requirement).toMatchObject({ member_agent_id: 'lab', member_run_id: `${run}/lab` })
  const [field] = requirement!['user_input_schema'] as object[]
  const requirements = JSON.stringify([{ ...requirement, user_input_schema: [{ ...field, value: 'seven' }] }])
  const frames = await stream(server, `/teams/lab-team/runs/${run}/continue`, { requirements, session_id: session })
  expect(namesOf(frames)[0]).toBe('TeamRunContinued')
  expect(namesOf(frames).at(-1)).toBe('TeamRunCompleted')
  expect(frames.find(({ data }) => data['name'] === 'answer')!.data).toMatchObject({ value: 'seven', agent_id: 'lab' })
})

test('AgentOS: a workflow pauses at each gate, names the step, and continues with the decision', async () => {
  const server = await serveAgentOs()
  const first = await stream(server, '/workflows/gated/runs', { message: 'a walk' })
  const { run } = idsOf(first)
  const decisions = [
    { gate: 'StepPaused', kind: 'step', decide: { confirmed: true } },
    { gate: 'StepPaused', kind: 'step', decide: { user_input: 'Brest' } },
    { gate: 'RouterPaused', kind: 'step', decide: { selected_choices: ['right'] } },
    { gate: 'StepOutputReview', kind: 'step', decide: { confirmed: true } },
    { gate: 'StepExecutorPaused', kind: 'executor', decide: {} },
  ]
  let frames = first
  const all = [...first]
  for (const { gate, kind, decide } of decisions) {
    expect(namesOf(frames).slice(-2)).toEqual([gate, 'WorkflowPaused'])
    const { step_requirements: asked, pause_kind: pauseKind, status } = frames.at(-1)!.data
    expect([pauseKind, status]).toEqual([kind, 'PAUSED'])
    const [requirement] = asked as (Tool & { executor_requirements: Tool[] | null })[]
    const decided = {
      ...requirement,
      ...decide,
      ...(kind === 'executor' && {
        executor_requirements: requirement!.executor_requirements!.map((each) => ({ ...each, confirmation: true })),
      }),
    }
    const fields = { step_requirements: JSON.stringify([decided]) }
    frames = await stream(server, `/workflows/gated/runs/${run}/continue`, fields)
    expect(namesOf(frames)[0]).toBe(kind === 'step' ? 'StepContinued' : 'StepExecutorContinued')
    all.push(...frames)
  }
  expect(frames.at(-1)!.data).toMatchObject({ event: 'WorkflowCompleted', content: 'Done: Ada has 25 more.' })
  expect(
    all.find(({ data }) => data['step_name'] === 'right' && data['event'] === 'StepCompleted')!.data['content'],
  ).toBe('a walk in Brest, right')
  expect(indicesOf(all)).toEqual(upTo(all.length))
  const replayed = await stream(server, `/workflows/gated/runs/${run}/resume`, {})
  expect(replayed.slice(1).map(({ text }) => text)).toEqual(all.map(({ text }) => text))
})

test('AgentOS: a paused workflow’s run includes what it waits for', async () => {
  const server = await serveAgentOs()
  const { run, session } = idsOf(await stream(server, '/workflows/gated/runs', { message: 'a walk' }))
  const { body } = await getJson(server, `/workflows/gated/runs/${run}?session_id=${session}`)
  expect(body).toMatchObject({
    status: 'PAUSED',
    paused_step_name: 'confirmed',
    step_requirements: [
      { step_name: 'confirmed', requires_confirmation: true, confirmation_message: 'Shall it begin?' },
    ],
  })
})
