/** The AgentOS protocol, for unmodified agno clients. */
import type { Logger } from '../../core/ports/logger.ts'
import type { Service } from '../../core/service.ts'
import type { Protocol } from '../../http/routing/route.ts'
import type { Streams } from '../../http/response/stream.ts'
import { toDetail } from './wire/errors.ts'
import { AgentOs } from './requests/agent-os.ts'
import type { UpstreamSessions } from './requests/upstream-sessions.ts'
import type { AgentOsInfo } from './routes/os.ts'
import { agentosRoutes } from './routes/index.ts'
import { Sockets } from './socket/sockets.ts'

export interface AgentOsOptions extends AgentOsInfo {
  readonly service: Service
  readonly streams: Streams
  readonly logger: Logger
  readonly upstreamSessions?: UpstreamSessions | undefined
}

export function agentosProtocol({ service, streams, logger, upstreamSessions, ...facts }: AgentOsOptions): Protocol {
  const os = new AgentOs(service, streams, upstreamSessions)
  const sockets = new Sockets(os, logger)
  return {
    name: 'agentos',
    routes: agentosRoutes(os, facts),
    upgrades: sockets.upgrades(),
    close: (reason) => sockets.close(reason),
    error: toDetail,
  }
}
