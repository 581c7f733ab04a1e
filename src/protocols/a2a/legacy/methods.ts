/** Maps JSON-RPC methods of 0.3 to those of 1.0. */
import { isUntypedObject } from '../../../a2a/untyped-json.ts'
import type { Agent } from '../requests/agents.ts'
import { a2aError } from '../wire/errors.ts'
import { methods } from '../requests/methods.ts'
import type { OperationCaller } from '../requests/operations.ts'
import type { PushConfig } from '../wire/wire.ts'
import { toLegacyCard } from './card.ts'
import { fromPushConfig, fromSend, fromTask, type LegacyResult } from './result.ts'
import { toPushConfig, toSend } from './requests.ts'

type LegacyMethod = (agent: Agent, caller: OperationCaller, params: unknown) => Promise<LegacyResult>

const sendStream: LegacyMethod = (agent, caller, params) => methods.SendStreamingMessage(agent, caller, toSend(params))

export const legacyMethods = {
  async 'message/send'(agent, caller, params) {
    return { result: fromSend((await methods.SendMessage(agent, caller, toSend(params))).result) }
  },
  'message/stream': sendStream,
  // Its name before 0.2.
  'tasks/sendSubscribe': sendStream,
  async 'tasks/get'(agent, caller, params) {
    return { result: fromTask((await methods.GetTask(agent, caller, params)).result) }
  },
  async 'tasks/cancel'(agent, caller, params) {
    return { result: fromTask((await methods.CancelTask(agent, caller, params)).result) }
  },
  'tasks/resubscribe': (agent, caller, params) => methods.SubscribeToTask(agent, caller, params),
  async 'tasks/pushNotificationConfig/set'(agent, caller, params) {
    const { pushNotificationConfig, taskId } = isUntypedObject(params) ? params : {}
    const request = toPushConfig(pushNotificationConfig ?? {}, taskId)
    const created = await methods.CreateTaskPushNotificationConfig(agent, caller, request)
    return { result: fromPushConfig(created.result) }
  },
  async 'tasks/pushNotificationConfig/get'(agent, caller, params) {
    const { taskId, id } = pushQuery(params)
    if (id !== undefined) {
      const found = await methods.GetTaskPushNotificationConfig(agent, caller, { taskId, id })
      return { result: fromPushConfig(found.result) }
    }
    const [first] = await listConfigs(agent, caller, taskId)
    if (first === undefined) throw a2aError('TASK_NOT_FOUND', 'the task has no push configuration')
    return { result: fromPushConfig(first) }
  },
  async 'tasks/pushNotificationConfig/list'(agent, caller, params) {
    const { taskId } = pushQuery(params)
    return { result: (await listConfigs(agent, caller, taskId)).map(fromPushConfig) }
  },
  'tasks/pushNotificationConfig/delete': (agent, caller, params) =>
    methods.DeleteTaskPushNotificationConfig(agent, caller, pushQuery(params)),
  async 'agent/getAuthenticatedExtendedCard'(agent, caller) {
    if (!agent.hasExtendedCard)
      throw a2aError('EXTENDED_AGENT_CARD_NOT_CONFIGURED', `${agent.operations.component.id} has no extended card`)
    return { result: toLegacyCard(await agent.extendedCard(caller.url, caller.principal)) }
  },
} as const satisfies Record<string, LegacyMethod>

export function isLegacyMethod(name: string): name is keyof typeof legacyMethods {
  return Object.hasOwn(legacyMethods, name)
}

/** Methods that respond with a stream. */
export function isLegacyStream(name: keyof typeof legacyMethods): boolean {
  return name === 'message/stream' || name === 'tasks/sendSubscribe' || name === 'tasks/resubscribe'
}

/** In 0.3, `id` is the task id. */
function pushQuery(params: unknown): { readonly taskId: unknown; readonly id: unknown } {
  const { id, pushNotificationConfigId } = isUntypedObject(params) ? params : {}
  return { taskId: id, id: pushNotificationConfigId ?? undefined }
}

async function listConfigs(agent: Agent, caller: OperationCaller, taskId: unknown): Promise<readonly PushConfig[]> {
  const page = await methods.ListTaskPushNotificationConfigs(agent, caller, { taskId })
  return page.result.configs
}
