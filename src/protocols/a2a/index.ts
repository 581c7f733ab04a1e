/** The A2A protocol, 1.0 and 0.3. Every component is an agent. */
import { type Clock, type Ids, systemClock } from '../../core/ports/clock.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { AuthScheme } from '../../core/model/principal.ts'
import type { Service } from '../../core/service.ts'
import type { Call, Protocol, Route } from '../../http/routing/route.ts'
import type { Streams } from '../../http/response/stream.ts'
import { type Agent, Agents } from './requests/agents.ts'
import { serveCard } from './routes/card.ts'
import { toStatusResponse } from './wire/errors.ts'
import { serveRpc } from './routes/jsonrpc.ts'
import type { MethodName } from './requests/methods.ts'
import { type A2aOptions, pushOptions } from './wire/options.ts'
import { deadLetterRoutes } from './push/dead-letters.ts'
import { serveRest } from './routes/rest.ts'
import type { Version } from './requests/version.ts'

export type { A2aOptions, AgentCardOptions, PushOptions } from './wire/options.ts'
export type { CardSigner } from './wire/signing.ts'

export interface A2aProtocolOptions {
  readonly service: Service
  readonly streams: Streams
  readonly ids: Ids
  readonly clock?: Clock
  readonly logger: Logger
  readonly auth: AuthScheme
  readonly version: string
  readonly options: A2aOptions
  /** Path below the mount point, such as `/a2a`, for the addresses on cards. */
  readonly path: string
}

/** The second path is that of 0.2. */
const WELL_KNOWN = ['/.well-known/agent-card.json', '/.well-known/agent.json']

export function a2aProtocol(parts: A2aProtocolOptions): Protocol {
  const { options, clock = systemClock } = parts
  const startedAt = clock.now()
  const agents = new Agents(parts)
  const agentOf = ({ params: { component } }: Call): Agent =>
    component === undefined ? agents.default() : agents.get(component)
  const card = (call: Call): Promise<void> => serveCard(call, agentOf(call), options, startedAt)
  const rpc = (call: Call): Promise<void> => serveRpc(call, agentOf(call), parts)
  const rest: ServeMethod = (call, method, version) =>
    serveRest(call, agents.get(call.params['component']!), parts, { method, version })
  return {
    name: 'a2a',
    routes: [
      ...WELL_KNOWN.flatMap((path): Route[] => [
        { method: 'GET', path, public: true, handle: card },
        { method: 'GET', path: `/a2a/{component}${path}`, public: true, handle: card },
      ]),
      ...(pushOptions(options) === undefined ? [] : deadLetterRoutes(parts.service)),
      { method: 'GET', path: '/a2a/{component}', public: true, handle: card },
      // Serves the default agent at the paths of single-agent servers.
      { method: 'POST', path: '/', handle: rpc },
      { method: 'POST', path: '/a2a/{component}', handle: rpc },
      { method: 'POST', path: '/a2a/{component}/', handle: rpc },
      ...restRoutes('/a2a/{component}/v1', '0.3', rest),
      ...restRoutes('/a2a/{component}', '1.0', rest),
      ...restRoutes('/a2a/{component}/{tenant}', '1.0', rest),
    ],
    error: (error) => toStatusResponse(error, options.errorTable ?? '1.0.1'),
  }
}

type ServeMethod = (call: Call, method: MethodName, version: Version) => Promise<void>

/** `{id}` is a task id with a verb after a colon; 1.0 allows GET and POST for `:subscribe`. */
function restRoutes(base: string, version: Version, serve: ServeMethod): Route[] {
  const route = (method: Route['method'], path: string, name: MethodName): Route => ({
    method,
    path: base + path,
    handle: (call) => serve(call, name, version),
  })
  const configs = '/tasks/{id}/pushNotificationConfigs'
  return [
    route('POST', '/message:send', 'SendMessage'),
    route('POST', '/message:stream', 'SendStreamingMessage'),
    ...(version === '1.0' ? [route('GET', '/tasks', 'ListTasks')] : []),
    route('GET', '/tasks/{id}', 'GetTask'),
    route('POST', '/tasks/{id}', 'CancelTask'),
    route('POST', configs, 'CreateTaskPushNotificationConfig'),
    route('GET', configs, 'ListTaskPushNotificationConfigs'),
    route('GET', `${configs}/{config}`, 'GetTaskPushNotificationConfig'),
    route('DELETE', `${configs}/{config}`, 'DeleteTaskPushNotificationConfig'),
    route('GET', version === '1.0' ? '/extendedAgentCard' : '/card', 'GetExtendedAgentCard'),
  ]
}
