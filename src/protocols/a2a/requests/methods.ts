/** Operations by their JSON-RPC and gRPC method names: validate the request, return a result or a stream. */
import { a2aError } from '../wire/errors.ts'
import type { Agent } from './agents.ts'
import type { OperationCaller, TaskStream } from './operations.ts'
import type * as Shapes from './shapes.ts'

/** Loaded lazily, because zod loads more slowly than the server starts. */
const loadShapes = (): Promise<typeof Shapes> => import('./shapes.ts')

export type MethodResult = { readonly result: unknown } | { readonly stream: TaskStream }

/** The request's tenant applies if the path has none. */
type Method = (agent: Agent, caller: OperationCaller, params: unknown) => Promise<MethodResult>

async function checked<Request extends { readonly tenant?: string | undefined }>(
  caller: OperationCaller,
  parse: (shapes: typeof Shapes) => Request,
): Promise<{ readonly request: Request; readonly caller: OperationCaller }> {
  const request = parse(await loadShapes())
  const { tenant = '' } = request
  return { request, caller: caller.tenant === '' && tenant !== '' ? { ...caller, tenant } : caller }
}

export const methods = {
  async SendMessage({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.sendRequest, params))
    return { result: await operations.send(caller, request) }
  },
  async SendStreamingMessage({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.sendRequest, params))
    return { stream: await operations.stream(caller, request) }
  },
  async GetTask({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.taskRequest, params))
    return { result: await operations.get(caller, request.id, request.historyLength) }
  },
  async ListTasks({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.listRequest, params))
    return { result: await operations.list(caller, request) }
  },
  async CancelTask({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.taskRequest, params))
    return { result: await operations.cancel(caller, request.id) }
  },
  async SubscribeToTask({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.taskRequest, params))
    return { stream: await operations.subscribe(withPosition(caller, request.metadata), request.id) }
  },
  async CreateTaskPushNotificationConfig({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.pushConfigRequest, params))
    return { result: await operations.createPushConfig(caller, request.taskId ?? '', request) }
  },
  async GetTaskPushNotificationConfig({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.pushConfigQuery, params))
    return { result: await operations.getPushConfig(caller, request.taskId, request.id ?? '') }
  },
  async ListTaskPushNotificationConfigs({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.pushConfigQuery, params))
    const { taskId, pageSize, pageToken } = request
    return { result: await operations.listPushConfigs(caller, taskId, pageSize, pageToken) }
  },
  async DeleteTaskPushNotificationConfig({ operations }, given, params) {
    const { request, caller } = await checked(given, (s) => s.parseRequest(s.pushConfigQuery, params))
    await operations.deletePushConfig(caller, request.taskId, request.id ?? '')
    return { result: null }
  },
  async GetExtendedAgentCard(agent, given, params) {
    const { caller } = await checked(given, (s) => s.parseRequest(s.cardRequest, params))
    if (!agent.hasExtendedCard)
      throw a2aError('UNSUPPORTED_OPERATION', `${agent.operations.component.id} has no extended card`)
    return { result: await agent.extendedCard(caller.url, caller.principal) }
  },
} as const satisfies Record<string, Method>

export type MethodName = keyof typeof methods

export function isMethod(name: string): name is MethodName {
  return Object.hasOwn(methods, name)
}

/** Bindings without headers can send the resume position in the request. */
function withPosition(
  caller: OperationCaller,
  metadata: Readonly<Record<string, unknown>> | undefined,
): OperationCaller {
  for (const uri of caller.extensions) {
    const { after } = (metadata?.[uri] ?? {}) as { after?: unknown }
    if (typeof after === 'number' || typeof after === 'string') return { ...caller, after: String(after) }
  }
  return caller
}
