/** Tool calls as tasks, in both forms, with the official clients. */
import {
  createTaskSessionFromClient,
  type JsonRpcResponse,
  resultFromTaskOutcome,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { startServer } from '../../support/process.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { newestText, serveChats } from '../ai-sdk/serve.ts'
import { connect, connectModern, textOf } from './serve.ts'

const lab = (input: string): { name: string; arguments: { input: string } } => ({ name: 'lab', arguments: { input } })
const VERSION = '2026-07-28'

/** The package that adds the tasks extension to the client of 2026-07-28. It leaves sending its requests to its host. */
async function taskSession(url: string, answer?: string): Promise<TaskEnabledSession> {
  const client = await connectModern(url)
  const session = createTaskSessionFromClient(client, {
    endpointId: 'test',
    rawDispatch: (request) => post(url, request as unknown as Message),
    v2RequestFraming: {
      protocolVersion: VERSION,
      clientInfo: { name: 'test', version: '1' },
      clientCapabilities: { elicitation: {} },
    },
    ...(answer !== undefined && {
      onInputRequest: async () => ({ action: 'accept', content: { answer } }) as never,
    }),
  })
  onTestFinished(() => session.close())
  return session
}

interface Message {
  readonly method: string
  readonly params: { readonly name?: string; readonly taskId?: string; readonly _meta?: object }
}

let requests = 0

async function post(url: string, { method, params }: Message): Promise<JsonRpcResponse> {
  const name = params.name ?? params.taskId
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++requests, method, params }),
  })
  const body = (await response.json()) as { result?: never; error?: never }
  return body.error === undefined ? { kind: 'result', result: body.result! } : { kind: 'error', error: body.error }
}

describe('MCP: a task of the extension of 2026-07-28', () => {
  test('is a run, and its result is that of the call', async () => {
    const server = await serveChats()
    const session = await taskSession(server.url)
    const execution = await session.callTool('lab', { input: 'text 5' })
    expect(execution.kind).toBe('task')
    const { run } = await server.service.get(localPrincipal, execution.handle!.taskId)
    expect(run).toMatchObject({ component: 'lab', protocol: 'mcp' })
    const { outcome } = await execution.settle()
    expect(textOf(resultFromTaskOutcome(outcome))).toBe(await newestText(server))
  })

  test.each([
    ['text 2; throw boom', 'boom'],
    ['text 2; reject not today', 'not today'],
  ])('that ends with %s is completed with an error as its result', async (script, text) => {
    const server = await serveChats()
    const session = await taskSession(server.url)
    const { outcome } = await (await session.callTool('lab', { input: script })).settle()
    const result = resultFromTaskOutcome(outcome)
    expect(result).toMatchObject({ isError: true })
    expect(textOf(result)).toContain(text)
  })

  test('asks its client’s user, and goes on with the answer', async () => {
    const server = await serveChats()
    const session = await taskSession(server.url, 'Rome')
    const { outcome } = await (await session.callTool('lab', { input: 'ask Which town?; say after' })).settle()
    expect(textOf(resultFromTaskOutcome(outcome))).toBe(await newestText(server))
  })

  test('can be cancelled', async () => {
    const server = await serveChats()
    const session = await taskSession(server.url)
    const execution = await session.callTool('lab', { input: 'text 2; hang' })
    await execution.cancel()
    const controller = session.task(execution.handle!.taskId)
    await expect.poll(async () => (await controller.snapshot()).status).toBe('cancelled')
  })

  test('[RUN-5] survives a killed server, and another client reads its result', async () => {
    const store = temporaryDatabase()
    const first = await startServer({ store })
    const session = await taskSession(first.url)
    const input = 'text 40 every 30; text 20'
    const execution = await session.callTool('lab-resume', { input })
    const { taskId } = execution.handle!
    await execution.detach()
    await first.kill()
    const second = await startServer({ store })
    const controller = (await taskSession(second.url)).task(taskId)
    await until('the task has ended', async () => (await controller.snapshot()).status === 'completed')
    const words = textOf(resultFromTaskOutcome(await controller.result())).match(/\[\d+\]/g)!
    expect(words).toHaveLength(60)
  })

  test('is refused to a client that did not ask for tasks, with what it lacks', async () => {
    const server = await serveChats()
    const meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    expect(await post(server.url, { method: 'tasks/get', params: { taskId: 'none', _meta: meta } })).toMatchObject({
      error: { code: -32_021, data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } } },
    })
  })
})

describe('MCP: a task of 2025-11-25', () => {
  test('is created, followed to its result and listed', async () => {
    const server = await serveChats()
    const client = await connect(server.url)
    await client.listTools() // the client learns which tools may be tasks
    const seen: string[] = []
    let text = ''
    for await (const message of client.experimental.tasks.callToolStream(lab('text 5'), CallToolResultSchema)) {
      seen.push(message.type)
      if (message.type === 'result') text = textOf(message.result)
    }
    expect(seen[0]).toBe('taskCreated')
    expect(seen.at(-1)).toBe('result')
    expect(text).toBe(await newestText(server))
    const { tasks } = await client.experimental.tasks.listTasks()
    expect(tasks).toMatchObject([{ status: 'completed', ttl: null }])
    expect(await client.experimental.tasks.getTask(tasks[0]!.taskId)).toMatchObject({ status: 'completed' })
  })

  test('that failed has its error as its result', async () => {
    const server = await serveChats()
    const client = await connect(server.url)
    const taskId = await startTask(client, 'text 2; throw boom')
    await until('it failed', async () => (await client.experimental.tasks.getTask(taskId)).status === 'failed')
    const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)
    expect(result).toMatchObject({ isError: true, content: [{ text: 'boom' }] })
  })

  test('asks on the stream of its result, which the client’s user answers', async () => {
    const server = await serveChats()
    const client = await connect(server.url, { elicit: () => ({ action: 'accept', content: { answer: 'Rome' } }) })
    const taskId = await startTask(client, 'ask Which town?; say after')
    await until('it asks', async () => (await client.experimental.tasks.getTask(taskId)).status === 'input_required')
    const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)
    expect(textOf(result)).toBe(await newestText(server))
  })

  test('can be cancelled once', async () => {
    const server = await serveChats()
    const client = await connect(server.url)
    const taskId = await startTask(client, 'text 2; hang')
    await client.experimental.tasks.cancelTask(taskId)
    await until('it is cancelled', async () => (await client.experimental.tasks.getTask(taskId)).status === 'cancelled')
    await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toThrow('is cancelled')
  })

  async function startTask(client: Awaited<ReturnType<typeof connect>>, script: string): Promise<string> {
    await client.listTools()
    for await (const message of client.experimental.tasks.callToolStream(lab(script), CallToolResultSchema))
      if (message.type === 'taskCreated') return message.task.taskId
    throw new Error('no task was created')
  }
})
