/** The methods that clients may call, by name. */
import { CONTENT_LIMIT_FACTOR } from '../../../core/model/limits.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { Ids } from '../../../core/ports/clock.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { jsonBytes } from '../../../http/response/respond.ts'
import { callKind } from '../view/projection.ts'
import type { ToolResult } from '../view/result.ts'
import { INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, rpcError } from '../wire/errors.ts'
import { answerQuestions } from './answer.ts'
import { callTool, type Exchange, type Reply, streamOf } from './calls.ts'
import { LEGACY_VERSIONS, MODERN_VERSION, SUPPORTED_VERSIONS, TASKS_EXTENSION, toSessionId } from './client.ts'
import type { Params } from './message.ts'
import { detailedTask, legacyTask, relatedTask } from './tasks.ts'
import { toolPage } from './tools.ts'

export interface ServerInfo {
  readonly ids: Ids
  readonly version: string
}

type Method = (exchange: Exchange, params: Params, server: ServerInfo) => Promise<Reply> | Reply

/** Loaded lazily, because zod loads more slowly than the server starts. */
const loadShapes = (): Promise<typeof import('./shapes.ts')> => import('./shapes.ts')

const INSTRUCTIONS =
  'Every tool is an agent, a team or a workflow whose runs outlive their connections. Call it as a task if it may take longer than a request.'

const listTools: Method = async ({ service, client }, params) => {
  const { listParams, parseParams } = await loadShapes()
  const page = toolPage(service.components(), parseParams(listParams, params).cursor)
  return { result: client.era === 'modern' ? { ...complete, ...page, ttlMs: 0, cacheScope: 'private' } : page }
}

const call: Method = async (exchange, params) => {
  const { callParams, parseParams } = await loadShapes()
  return callTool(exchange, parseParams(callParams, params))
}

const complete = { resultType: 'complete' } as const

const modernMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'server/discover',
    (_exchange, _params, { version }) => ({
      result: {
        ...complete,
        supportedVersions: SUPPORTED_VERSIONS,
        capabilities: { tools: {}, extensions: { [TASKS_EXTENSION]: {} } },
        instructions: INSTRUCTIONS,
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'holdfast', version } },
      },
    }),
  ],
  ['tools/list', listTools],
  ['tools/call', call],
  ['tasks/get', needingTasks(getTask)],
  ['tasks/update', needingTasks(updateTask)],
  [
    'tasks/cancel',
    needingTasks(async (exchange, params) => {
      await stopTask(exchange, params)
      return { result: complete }
    }),
  ],
])

const legacyMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['initialize', initialize],
  ['ping', () => ({ result: {} })],
  ['tools/list', listTools],
  ['tools/call', call],
  ['tasks/get', async (exchange, params) => ({ result: legacyTask((await taskIn(exchange, params)).run) })],
  ['tasks/result', taskResult],
  ['tasks/list', listTasks],
  [
    'tasks/cancel',
    async (exchange, params) => {
      const { run } = await taskIn(exchange, params)
      if (isFinished(run.status)) throw rpcError(INVALID_PARAMS, `task ${run.id} is ${run.status}`, { as: 'conflict' })
      return { result: legacyTask((await stopTask(exchange, params)).run) }
    },
  ],
])

export function methodOf(era: 'legacy' | 'modern', name: string): Method {
  const method = (era === 'modern' ? modernMethods : legacyMethods).get(name)
  if (method !== undefined) return method
  throw rpcError(METHOD_NOT_FOUND, `unknown method ${JSON.stringify(name.slice(0, 100))}`, {
    as: 'not_found',
    ...(era === 'modern' && { status: 404 }),
  })
}

/** Rejects task methods of clients that did not ask for tasks. */
function needingTasks(method: Method): Method {
  return (exchange, params, server) => {
    if (exchange.client.takesTasks) return method(exchange, params, server)
    throw rpcError(MISSING_CAPABILITY, `the client does not declare the extension ${TASKS_EXTENSION}`, {
      status: 400,
      data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
    })
  }
}

async function initialize({ call: { response } }: Exchange, params: Params, server: ServerInfo): Promise<Reply> {
  const { initializeParams, parseParams } = await loadShapes()
  const { protocolVersion: asked, capabilities } = parseParams(initializeParams, params)
  response.setHeader('mcp-session-id', toSessionId(server.ids.unique(), capabilities))
  return {
    result: {
      protocolVersion: LEGACY_VERSIONS.includes(asked) ? asked : LEGACY_VERSIONS[0],
      capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      serverInfo: { name: 'holdfast', version: server.version },
      instructions: INSTRUCTIONS,
      _meta: { 'holdfast/supportedVersions': [MODERN_VERSION, ...LEGACY_VERSIONS] },
    },
  }
}

async function taskIn({ call: { principal }, service }: Exchange, params: Params): Promise<StoredRun> {
  const { taskParams, parseParams } = await loadShapes()
  return service.get(principal, parseParams(taskParams, params).taskId)
}

async function stopTask(exchange: Exchange, params: Params): Promise<StoredRun> {
  const { run } = await taskIn(exchange, params)
  return exchange.service.stop(exchange.call.principal, run.id, 'cancelled by an MCP client')
}

async function getTask(exchange: Exchange, params: Params): Promise<Reply> {
  const { service } = exchange
  const stored = await taskIn(exchange, params)
  const result = isFinished(stored.run.status) ? await resultIn(exchange, stored) : undefined
  const task = { ...complete, ...detailedTask(stored.run, result) }
  if (jsonBytes(task) > CONTENT_LIMIT_FACTOR * service.limits.maxResponseBytes)
    throw new HoldfastError('too_large', `the result of task ${stored.run.id} is too large; read the events of its run`)
  return { result: task }
}

async function resultIn({ service }: Exchange, stored: StoredRun): Promise<ToolResult | undefined> {
  const { state } = await service.views.open(stored, callKind).current(stored.next)
  return state.result
}

/** Answers to questions that are not open are accepted without effect, so that a repeated update succeeds. */
async function updateTask({ call: { principal }, service }: Exchange, params: Params): Promise<Reply> {
  const { updateParams, parseParams } = await loadShapes()
  const { taskId: run, inputResponses } = parseParams(updateParams, params)
  await service.get(principal, run)
  for (const [key, result] of Object.entries(inputResponses))
    if (await answerQuestions(service, principal, { run, key, result, mayAnswerLater: true })) break
  return { result: complete }
}

async function taskResult(exchange: Exchange, params: Params): Promise<Reply> {
  const stored = await taskIn(exchange, params)
  const meta = relatedTask(stored.run.id)
  const { progressToken: progress } = (params['_meta'] ?? {}) as { readonly progressToken?: unknown }
  return { stream: await streamOf(exchange, stored, { isNew: false, progress, meta }) }
}

async function listTasks({ call: { principal }, service }: Exchange, params: Params): Promise<Reply> {
  const { listParams, parseParams } = await loadShapes()
  const { cursor: after } = parseParams(listParams, params)
  const { runs, cursor } = await service.list(principal, { ...(after !== undefined && { after }) })
  return {
    result: { tasks: runs.map(({ run }) => legacyTask(run)), ...(cursor !== undefined && { nextCursor: cursor }) },
  }
}
