/** Continuing a run from a position, regenerating a response, and forking a session: the messages that the model gets. */
import { tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { scriptedModel } from '../../../src/agents/model/scripted/scripted.ts'
import type { ScriptedPrompt } from '../../../src/agents/model/scripted/scripted-call.ts'
import { type AgentOsServer, getJson, postForm, serveAgentOs } from './serve.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- bodies of JSON responses
type Body = any

interface Guide {
  readonly server: AgentOsServer
  /** The prompts of the model's requests, a line per part. */
  readonly prompts: string[][]
  /** Cities of the tool calls. */
  readonly cities: string[]
  run(message: string, session?: string): Promise<Body>
  continue(run: Body, fields: Record<string, string>): Promise<Body>
  refusal(run: Body, fields: Record<string, string>): Promise<unknown[]>
}

/** An agent that looks up a fact for questions about Paris, and responds with the number of its model request. */
async function serveGuide(): Promise<Guide> {
  const prompts: string[][] = []
  const cities: string[] = []
  const guide = modelAgent({
    id: 'guide',
    tools: {
      fact: tool({
        inputSchema: z.object({ city: z.string() }),
        execute: ({ city }) => {
          cities.push(city)
          return { city, isOld: true }
        },
      }),
    },
    model: scriptedModel({
      id: 'guide-model',
      script({ prompt, results, text }) {
        prompts.push(linesOf(prompt))
        if (text === 'fail') throw new Error('no model')
        const isAsked = text === 'Paris?' && results.length === 0
        return isAsked ? [{ type: 'tool', name: 'fact', input: { city: 'Paris' } }] : `answer ${prompts.length}`
      },
    }),
  })
  const server = await serveAgentOs({ components: [guide] })
  const posted = (path: string, fields: Record<string, string>): Promise<Response> =>
    postForm(server, path, { stream: 'false', ...fields })
  const continued = (run: Body, fields: Record<string, string>): Promise<Response> =>
    posted(`/agents/guide/runs/${run.run_id}/continue`, { session_id: run.session_id, ...fields })
  return {
    server,
    prompts,
    cities,
    run: async (message, session) =>
      (await posted('/agents/guide/runs', { message, ...(session !== undefined && { session_id: session }) })).json(),
    continue: async (run, fields) => {
      const response = await continued(run, fields)
      const body: Body = await response.json()
      expect([response.status, body.detail]).toEqual([200, undefined])
      return body
    },
    refusal: async (run, fields) => {
      const response = await continued(run, fields)
      const { detail }: Body = await response.json()
      return [response.status, detail]
    },
  }
}

function linesOf(prompt: ScriptedPrompt): string[] {
  return prompt.flatMap(({ role, content }) =>
    typeof content === 'string'
      ? [`${role}: ${content}`]
      : content.map((part) => {
          if (part.type === 'text') return `${role}: ${part.text}`
          if (part.type === 'tool-call') return `${role} calls ${part.toolName} ${JSON.stringify(part.input)}`
          if (part.type === 'tool-result') return `${role} returns ${JSON.stringify(part.output)}`
          return `${role}: ${part.type}`
        }),
  )
}

async function runsOf({ server }: Guide, session: string, query = ''): Promise<Body[]> {
  return (await getJson(server, `/sessions/${session}/runs${query}`)).body
}

async function historyOf({ server }: Guide, session: string): Promise<string[]> {
  const { body } = await getJson(server, `/sessions/${session}`)
  return body.chat_history.map(({ role, content }: Body) => `${role}: ${content}`)
}

const CALL = 'assistant calls fact {"city":"Paris"}'
const RESULT = 'tool returns {"type":"json","value":{"city":"Paris","isOld":true}}'

describe('AgentOS: a run that is continued from one of its messages', () => {
  test('is another run, whose model is told the messages before it and nothing of the run after it', async () => {
    const guide = await serveGuide()
    const first = await guide.run('hello')
    const source = await guide.run('Paris?', first.session_id)
    expect(source.messages.map(({ role }: Body) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    const again = await guide.continue(source, { continue_from: '3', input: 'Only its age.' })
    const before = ['user: hello', 'assistant: answer 1', 'user: Paris?']
    expect(guide.prompts.at(-1)).toEqual([...before, CALL, RESULT, 'user: Only its age.'])
    expect(again).toMatchObject({
      status: 'COMPLETED',
      content: 'answer 4',
      session_id: first.session_id,
      forked_from_run_id: source.run_id,
      forked_from_message_index: 3,
      input: { input_content: 'Only its age.' },
    })
    expect(again.run_id).not.toBe(source.run_id)
    expect(again.messages.map(({ content }: Body) => content)).toEqual([
      'Paris?',
      '',
      '{"city":"Paris","isOld":true}',
      'Only its age.',
      'answer 4',
    ])
    expect(guide.cities).toEqual(['Paris'])
    // The source is unchanged, and both are listed.
    expect((await runsOf(guide, first.session_id)).map(({ status, run_input: input }) => [status, input])).toEqual([
      ['COMPLETED', 'hello'],
      ['COMPLETED', 'Paris?'],
      ['COMPLETED', 'Only its age.'],
    ])
  })

  test('keeps no tool call without its result', async () => {
    const guide = await serveGuide()
    const source = await guide.run('Paris?')
    const again = await guide.continue(source, { continue_from: '2', input: 'And Rome?' })
    expect(guide.prompts.at(-1)).toEqual(['user: Paris?', 'user: And Rome?'])
    expect(again.forked_from_message_index).toBe(1)
    const { body } = await getJson(
      guide.server,
      `/agents/guide/runs/${source.run_id}/checkpoints?session_id=${source.session_id}`,
    )
    expect(body.checkpoints.map(({ continue_from: from }: Body) => from)).toEqual([1, 3, 4])
  })

  test('can itself be continued, with the whole conversation', async () => {
    const guide = await serveGuide()
    const first = await guide.continue(await guide.run('Paris?'), { continue_from: '3', input: 'Only its age.' })
    const second = await guide.continue(first, { input: 'Thanks.' })
    const reported = ['user: Paris?', CALL, RESULT, 'user: Only its age.', 'assistant: answer 3', 'user: Thanks.']
    expect(guide.prompts.at(-1)).toEqual(reported)
    expect(second).toMatchObject({ forked_from_run_id: first.run_id, forked_from_message_index: 5 })
  })

  test('with files keeps them for the model', async () => {
    const guide = await serveGuide()
    const images = JSON.stringify([{ url: 'https://example.com/a.png', mime_type: 'image/png' }])
    const source = await postForm(guide.server, '/agents/guide/runs', { message: 'What?', stream: 'false', images })
    await guide.continue(await source.json(), { continue_from: '1', input: 'Briefly.' })
    expect(guide.prompts.at(-1)).toEqual(['user: What?', 'user: file', 'user: Briefly.'])
  })

  test('is refused with a reason if it cannot be continued there', async () => {
    const guide = await serveGuide()
    const source = await guide.run('Paris?')
    const cases: [Record<string, string>, number, RegExp][] = [
      [{ continue_from: '5', input: 'x' }, 400, /between 0 and 4/],
      [{ continue_from: '-1', input: 'x' }, 400, /between 0 and 4/],
      [{ continue_from: 'middle', input: 'x' }, 400, /continue_from/],
      [{ continue_from: '4' }, 409, /already completed/],
      [{ continue_from: '0' }, 409, /already completed/],
      [{ input: 'x', additional_instructions: 'y', regenerate: 'true' }, 400, /not both/],
      [{ additional_instructions: 'y' }, 400, /regenerate/],
      [{ replace_original: 'false', input: 'x' }, 400, /regenerate/],
      [{ regenerate: 'true', fork: 'true' }, 400, /fork/],
      [{ regenerate: 'true', continue_from: '1' }, 400, /continue_from/],
    ]
    for (const [fields, status, detail] of cases)
      expect(await guide.refusal(source, fields)).toEqual([status, expect.stringMatching(detail)])
    expect(await runsOf(guide, source.session_id)).toHaveLength(1)
  })

  test('is a follow-up for a component that takes only texts: it gets the earlier messages from its session', async () => {
    const { server } = await serveGuide()
    const source: Body = await (
      await postForm(server, '/agents/lab/runs', { message: 'text 1', stream: 'false' })
    ).json()
    const fields = { session_id: source.session_id, stream: 'false', input: 'text 2' }
    const again: Body = await (await postForm(server, `/agents/lab/runs/${source.run_id}/continue`, fields)).json()
    expect(again).toMatchObject({ forked_from_run_id: source.run_id, input: { input_content: 'text 2' } })
    expect((await getJson(server, `/runs/${again.run_id}`)).body.branch).toBeUndefined()
    const later: Body = await (
      await postForm(server, `/agents/lab/runs/${source.run_id}/continue`, { ...fields, continue_from: '1' })
    ).json()
    expect((await getJson(server, `/runs/${later.run_id}`)).body.branch).toMatchObject({ from: source.run_id })
  })

  test('a paused run is forked, not changed', async () => {
    const { server } = await serveGuide()
    const paused: Body = await (
      await postForm(server, '/agents/clerk/runs', { message: 'send', stream: 'false' })
    ).json()
    const address = `/agents/clerk/runs/${paused.run_id}/continue`
    const fields = { session_id: paused.session_id, stream: 'false', continue_from: '1', input: 'Wait.' }
    expect((await postForm(server, address, fields)).status).toBe(409)
    const forked: Body = await (await postForm(server, address, { ...fields, fork: 'true' })).json()
    expect(forked).toMatchObject({ forked_from_run_id: paused.run_id, forked_from_message_index: 1 })
    const run = await getJson(server, `/agents/clerk/runs/${paused.run_id}?session_id=${paused.session_id}`)
    expect(run.body.status).toBe('PAUSED')
  })
})

describe('AgentOS: a regenerated answer', () => {
  test('replaces the original in the session and in the history of later runs, without calling tools again', async () => {
    const guide = await serveGuide()
    const source = await guide.run('Paris?')
    const again = await guide.continue(source, { regenerate: 'true', additional_instructions: 'Be brief.' })
    expect(guide.prompts.at(-1)).toEqual(['user: Paris?', CALL, RESULT, 'user: Be brief.'])
    expect(guide.cities).toEqual(['Paris'])
    expect(again).toMatchObject({
      regenerated_from: source.run_id,
      forked_from_run_id: source.run_id,
      content: 'answer 3',
    })
    expect((await runsOf(guide, source.session_id)).map(({ status }) => status)).toEqual(['REGENERATED', 'COMPLETED'])
    expect(await runsOf(guide, source.session_id, '?status=COMPLETED')).toMatchObject([{ run_id: again.run_id }])
    expect(await runsOf(guide, source.session_id, '?status=REGENERATED')).toMatchObject([{ run_id: source.run_id }])
    const { body } = await getJson(guide.server, `/agents/guide/runs/${source.run_id}?session_id=${source.session_id}`)
    expect(body.status).toBe('REGENERATED')
    expect(await historyOf(guide, source.session_id)).not.toContain('assistant: answer 2')
    await guide.run('More?', source.session_id)
    expect(guide.prompts.at(-1)).toEqual(['user: Be brief.', 'assistant: answer 3', 'user: More?'])
  })

  test('without instructions repeats the request to the model', async () => {
    const guide = await serveGuide()
    const source = await guide.run('hello')
    await guide.continue(source, { regenerate: 'true' })
    expect(guide.prompts).toEqual([['user: hello'], ['user: hello']])
    await guide.run('More?', source.session_id)
    expect(guide.prompts.at(-1)).toEqual(['user: hello', 'assistant: answer 2', 'user: More?'])
  })

  test('stands beside the original on request', async () => {
    const guide = await serveGuide()
    const source = await guide.run('hello')
    await guide.continue(source, { regenerate: 'true', replace_original: 'false' })
    expect((await runsOf(guide, source.session_id)).map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED'])
    await guide.run('More?', source.session_id)
    const both = ['user: hello', 'assistant: answer 1', 'user: hello', 'assistant: answer 2', 'user: More?']
    expect(guide.prompts.at(-1)).toEqual(both)
  })

  test('that failed replaces nothing', async () => {
    const guide = await serveGuide()
    const source = await guide.run('hello')
    await guide.continue(source, { regenerate: 'true', additional_instructions: 'fail' })
    expect((await runsOf(guide, source.session_id)).map(({ status }) => status)).toEqual(['COMPLETED', 'ERROR'])
    await guide.run('More?', source.session_id)
    expect(guide.prompts.at(-1)).toEqual(['user: hello', 'assistant: answer 1', 'user: More?'])
  })
})

describe('AgentOS: a forked session', () => {
  test('sends its model the inherited messages, and none that its origin got later', async () => {
    const guide = await serveGuide()
    const fork = async (session: string): Promise<string> =>
      (await getJson(guide.server, `/agents/guide/sessions/${session}/fork`, { method: 'POST' })).body.session_id
    const { session_id: origin } = await guide.run('one')
    const forked = await fork(origin)
    await guide.run('two', origin)
    await guide.run('three', forked)
    const inherited = ['user: one', 'assistant: answer 1']
    expect(guide.prompts.at(-1)).toEqual([...inherited, 'user: three'])
    const again = await fork(forked)
    await guide.run('four', again)
    expect(guide.prompts.at(-1)).toEqual([...inherited, 'user: three', 'assistant: answer 3', 'user: four'])
  })

  test('regenerates an inherited answer for itself only', async () => {
    const guide = await serveGuide()
    const source = await guide.run('one')
    const { session_id: forked } = (
      await getJson(guide.server, `/agents/guide/sessions/${source.session_id}/fork`, { method: 'POST' })
    ).body
    const again = await guide.continue({ ...source, session_id: forked }, { regenerate: 'true' })
    expect(again.session_id).toBe(forked)
    expect(guide.prompts.at(-1)).toEqual(['user: one'])
    expect((await runsOf(guide, forked)).map(({ status }) => status)).toEqual(['REGENERATED', 'COMPLETED'])
    expect((await runsOf(guide, source.session_id)).map(({ status }) => status)).toEqual(['COMPLETED'])
    const shown = async (session: string): Promise<string> =>
      (await getJson(guide.server, `/sessions/${session}/runs/${source.run_id}`)).body.status
    expect([await shown(forked), await shown(source.session_id)]).toEqual(['REGENERATED', 'COMPLETED'])
    await guide.run('two', forked)
    expect(guide.prompts.at(-1)).toEqual(['user: one', 'assistant: answer 2', 'user: two'])
    await guide.run('two', source.session_id)
    expect(guide.prompts.at(-1)).toEqual(['user: one', 'assistant: answer 1', 'user: two'])
    const stranger = await guide.run('x')
    expect(await guide.refusal({ ...stranger, session_id: forked }, { regenerate: 'true' })).toEqual([
      404,
      'Run not found',
    ])
  })
})
