/** Questions of a run: started in one protocol, answered in any other that supports the question, checked by the native log. */
import { describe, expect, test } from 'vitest'
import { call, readEvents, type Target, untilFinished, untilStatus } from '../support/http.ts'
import { clerk } from './agentos/components.ts'
import {
  A2A_HEADERS,
  form,
  framesIn,
  json,
  leave,
  linkTo,
  newestRun,
  type ProtocolLink,
  rpc,
  starts,
  type WantedRun,
} from './every-protocol.ts'
import { serveNative } from './native/serve.ts'
import { forecaster } from './openai/components.ts'

type Kind = 'words' | 'approval' | 'tool'

interface Asking {
  readonly target: Target
  readonly kind: Kind
  readonly component: string
  readonly run: string
  readonly link: ProtocolLink
}

/** Answer to each kind of question, as the log has it. */
const ANSWERS = { words: 'Rome', approval: true, tool: 'sunny' } as const

const answers: Readonly<Record<string, (asking: Asking) => Promise<unknown>>> = {
  native: ({ target, kind, run }) => post(target, `/runs/${run}/answers`, { answer: ANSWERS[kind] }),

  async agentos({ target, kind, component, run, link: { session } }) {
    const path = `/agents/${component}/runs/${run}`
    const { body } = await call<{ tools: Tool[] }>(target, 'GET', `${path}?session_id=${encodeURIComponent(session)}`)
    const tools = body.tools.map((tool) => ({
      ...tool,
      ...(kind === 'approval' && { confirmed: true }),
      ...(kind === 'tool' && { result: ANSWERS.tool }),
      ...(kind === 'words' && { user_input_schema: [{ ...tool.user_input_schema?.[0], value: ANSWERS.words }] }),
    }))
    const fields = { tools: JSON.stringify(tools), session_id: session, stream: 'false' }
    return accepted(await fetch(`${target.url}${path}/continue`, { method: 'POST', body: form(fields) }))
  },

  async a2a({ target, kind, component, link: { id } }) {
    const send = (part: object): Promise<unknown> => {
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', taskId: id, parts: [part] }
      return post(target, `/a2a/${component}/message:send`, { message }, A2A_HEADERS)
    }
    if (kind !== 'tool') return send({ text: kind === 'approval' ? 'yes' : ANSWERS.words })
    const { body: task } = await call<Task>(target, 'GET', `/a2a/${component}/tasks/${id}`, { headers: A2A_HEADERS })
    const [asked] = task.status.message.parts.flatMap(({ data }) => data?.questions ?? [])
    return send({ data: { answers: { [asked!.id]: ANSWERS.tool } } })
  },

  async 'ai-sdk'({ target, kind, component, link: { session } }) {
    const api = `/ai/${component}/chat`
    const { body } = await call<{ messages: UiMessage[] }>(
      target,
      'GET',
      `${api}/${encodeURIComponent(session)}/messages`,
    )
    const spoken = { id: 'u2', role: 'user', parts: [{ type: 'text', text: ANSWERS.words }] }
    const messages = kind === 'words' ? [...body.messages, spoken] : body.messages.map(resolved)
    return post(target, api, { id: session, messages })
  },

  async 'ag-ui'({ target, kind, component, link: { session: threadId } }) {
    const path = `/ag-ui/${component}`
    const { body } = await call<string>(target, 'GET', `${path}/threads/${encodeURIComponent(threadId)}`)
    const { outcome } = JSON.parse(framesIn(body).at(-1)!.data) as Finished
    const resume = outcome.interrupts?.map(({ id }) => ({
      interruptId: id,
      status: 'resolved',
      payload: ANSWERS[kind],
    }))
    const messages = outcome.pendingToolCallIds?.map((toolCallId) => ({
      id: toolCallId,
      role: 'tool',
      toolCallId,
      content: ANSWERS.tool,
    }))
    return post(target, path, { threadId, runId: crypto.randomUUID(), messages: messages ?? [], resume })
  },

  async mcp({ target, kind, run: taskId }) {
    const { inputRequests } = await mcpTask<{ inputRequests: object }>(target, 'tasks/get', { taskId })
    const answer = kind === 'tool' ? JSON.stringify(ANSWERS.tool) : ANSWERS[kind]
    const content = kind === 'approval' ? { approved: true } : { answer }
    const responses = Object.keys(inputRequests).map((key) => [key, { action: 'accept', content }])
    const update = { taskId, inputResponses: Object.fromEntries(responses) as object }
    return mcpTask(target, 'tasks/update', update)
  },

  async openai({ target, component, link: { id } }) {
    const { body } = await call<{ output: { type: string; call_id: string }[] }>(target, 'GET', `/v1/responses/${id}`)
    const input = body.output
      .filter(({ type }) => type === 'function_call')
      .map(({ call_id }) => ({ type: 'function_call_output', call_id, output: ANSWERS.tool }))
    return post(target, '/v1/responses', { model: component, previous_response_id: id, input })
  },
}

/** MCP since 2026-07-28: requests declare the client's capabilities. */
async function mcpTask<Result>(target: Target, method: string, params: { readonly taskId: string }): Promise<Result> {
  const version = '2026-07-28'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {
      elicitation: {},
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    },
  }
  const headers = { 'mcp-protocol-version': version, 'mcp-method': method, 'mcp-name': params.taskId }
  const body = rpc(method, { ...params, _meta: meta })
  const response = await call<{ result: Result }>(target, 'POST', '/mcp', { body, headers })
  expect(response.status, JSON.stringify(response.body)).toBe(200)
  return response.body.result
}

interface Tool {
  readonly user_input_schema?: readonly object[]
}

interface Task {
  readonly status: { readonly message: { readonly parts: { readonly data?: { questions: { id: string }[] } }[] } }
}

interface Finished {
  readonly outcome: { readonly interrupts?: { readonly id: string }[]; readonly pendingToolCallIds?: string[] }
}

interface UiMessage {
  readonly parts: readonly { readonly state?: string; readonly approval?: object }[]
}

/** As `addToolApprovalResponse` and `addToolOutput` leave a message. */
function resolved(message: UiMessage): UiMessage {
  return {
    ...message,
    parts: message.parts.map((part) => {
      if (part.state === 'approval-requested')
        return { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } }
      return part.state === 'input-available' ? { ...part, state: 'output-available', output: ANSWERS.tool } : part
    }),
  }
}

async function post(
  target: Target,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const init = { ...json(body), headers: { 'content-type': 'application/json', ...headers } }
  await accepted(await fetch(target.url + path, init))
}

async function accepted(response: Response): Promise<void> {
  const text = await response.text()
  expect(response.status, `${response.url}: ${text}`).toBeLessThan(300)
}

const weather = { name: 'weather', description: 'The weather', parameters: { type: 'object', properties: {} } }

/** The protocols in which clients bring their own tools. */
const toolStarts: ReadonlyMap<string, (target: Target, wanted: WantedRun) => Promise<unknown>> = new Map(
  Object.entries({
    openai: ({ url }: Target, { component, input }: WantedRun) => {
      const tools = [{ type: 'function', ...weather }]
      return leave(`${url}/v1/responses`, json({ model: component, input, tools, background: true, stream: true }))
    },
    'ag-ui': ({ url }: Target, { component, input, session }: WantedRun) => {
      const messages = [{ id: 'u1', role: 'user', content: input }]
      const body = { threadId: session, runId: crypto.randomUUID(), messages, tools: [weather] }
      return leave(`${url}/ag-ui/${component}`, json(body))
    },
  }),
)

const SPEAKERS = ['native', 'agentos', 'a2a', 'ai-sdk', 'ag-ui', 'mcp']

/** An approval may be an object with details. */
function plain(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'approved' in answer ? answer.approved : answer
}

describe.each([
  { kind: 'words', component: 'lab', input: 'say before; ask Which town?; say after', from: starts, to: SPEAKERS },
  { kind: 'approval', component: 'clerk', input: 'send 25 to Ada', from: starts, to: SPEAKERS },
  { kind: 'tool', component: 'forecaster', input: 'Rome', from: toolStarts, to: [...SPEAKERS, 'openai'] },
] as const)('answers across protocols: $kind', ({ kind, component, input, from, to }) => {
  test.each([...from.keys()])('asked by a run of %s, answered in every other', async (first) => {
    const server = await serveNative({ components: [clerk, forecaster] })
    for (const second of to) {
      const about = `${first} → ${second}`
      await from.get(first)!(server, { component, input, session: `session of ${about}` })
      const { id: run, protocol } = await newestRun(server)
      expect(protocol, about).toBe(first)
      await untilStatus(server, run, ['paused'])
      await answers[second]!({ target: server, kind, component, run, link: await linkTo(server, run, second) })
      expect((await untilFinished(server, run)).status, about).toBe('completed')
      expect((await newestRun(server)).id, `${about}: no other run was started`).toBe(run)
      const log = await readEvents(server, run)
      const resumed = log.filter(({ type }) => type === 'run.resumed')
      expect(
        resumed.map(({ data }) => Object.values(data['answers'] as object).map(plain)),
        about,
      ).toEqual([[ANSWERS[kind]]])
      expect(log.filter(({ type }) => type === 'run.paused')).toHaveLength(1)
    }
  })
})
