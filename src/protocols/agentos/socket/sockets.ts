/** WebSockets of this protocol: one path per family, one session per connection. */
import type { Logger } from '../../../core/ports/logger.ts'
import { SocketServer } from '../../../http/socket/server.ts'
import type { Upgrade } from '../../../http/socket/upgrade.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import { families } from '../wire/families.ts'
import { SocketSession } from './session.ts'

export class Sockets {
  readonly #os: AgentOs
  readonly #logger: Logger
  readonly #server: SocketServer

  constructor(os: AgentOs, logger: Logger) {
    this.#os = os
    this.#logger = logger
    this.#server = new SocketServer(os.service.limits.maxBodyBytes)
  }

  upgrades(): Upgrade[] {
    return Object.values(families).map((family) => ({
      path: `/${family.path}/ws`,
      handle: (call) =>
        this.#server.accept(call, (socket) => new SocketSession(socket, family, this.#os, this.#logger, call)),
    }))
  }

  close(reason: string): void {
    this.#server.close(reason)
  }
}
