/** WebSockets of this protocol: one path per family, one session per connection. */
import type { WebSocket, WebSocketServer } from 'ws'
import type { Logger } from '../../../core/ports/logger.ts'
import type { Upgrade, UpgradeCall } from '../../../http/upgrade.ts'
import { families, type Family } from '../wire/families.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import { SocketSession } from './session.ts'

/** Maximum fragments per message, because each has memory overhead. */
const FRAGMENTS_MAX = 4096

export class Sockets {
  readonly #os: AgentOs
  readonly #logger: Logger
  readonly #sessions = new Set<SocketSession>()
  #server: Promise<WebSocketServer> | undefined
  #closing: string | undefined

  constructor(os: AgentOs, logger: Logger) {
    this.#os = os
    this.#logger = logger
  }

  upgrades(): Upgrade[] {
    return Object.values(families).map((family) => ({
      path: `/${family.path}/ws`,
      handle: (call) => this.#open(family, call),
    }))
  }

  close(reason: string): void {
    this.#closing = reason
    for (const session of this.#sessions) session.close(reason)
  }

  async #open(family: Family, call: UpgradeCall): Promise<void> {
    this.#server ??= this.#load()
    const server = await this.#server
    server.handleUpgrade(call.request, call.socket, call.head, (socket: WebSocket) => {
      const session = new SocketSession(socket, family, this.#os, this.#logger, call)
      this.#sessions.add(session)
      socket.once('close', () => this.#sessions.delete(session))
      if (this.#closing !== undefined) session.close(this.#closing)
    })
  }

  /** Loaded lazily, because most servers never need it. */
  async #load(): Promise<WebSocketServer> {
    const { WebSocketServer: Server } = await import('ws')
    return new Server({
      noServer: true,
      maxPayload: this.#os.service.limits.bodyBytesMax,
      perMessageDeflate: false,
      maxFragments: FRAGMENTS_MAX,
      maxBufferedChunks: FRAGMENTS_MAX,
      autoPong: false, // the session answers pings itself, with backpressure
    })
  }
}
