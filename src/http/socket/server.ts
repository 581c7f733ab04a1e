/** Accepts WebSockets for a protocol, within bounds, and closes them when the server stops. */
import type { WebSocket, WebSocketServer } from 'ws'
import type { UpgradeCall } from './upgrade.ts'

/** Maximum fragments per message, because each has memory overhead. */
const FRAGMENTS_MAX = 4096

/** A connection that the server can close. */
export interface SocketPeer {
  close(reason: string): void
}

export class SocketServer {
  readonly #maxBytes: number
  readonly #open = new Set<SocketPeer>()
  #server: Promise<WebSocketServer> | undefined
  #closing: string | undefined

  /** `maxBytes`: maximum size of one message. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  async accept(call: UpgradeCall, open: (socket: WebSocket) => SocketPeer): Promise<void> {
    this.#server ??= this.#load()
    const server = await this.#server
    server.handleUpgrade(call.request, call.socket, call.head, (socket: WebSocket) => {
      const peer = open(socket)
      this.#open.add(peer)
      socket.once('close', () => this.#open.delete(peer))
      if (this.#closing !== undefined) peer.close(this.#closing)
    })
  }

  close(reason: string): void {
    this.#closing = reason
    for (const peer of this.#open) peer.close(reason)
  }

  /** Loaded lazily, because most servers never need it. */
  async #load(): Promise<WebSocketServer> {
    const { WebSocketServer: Server } = await import('ws')
    return new Server({
      noServer: true,
      maxPayload: this.#maxBytes,
      perMessageDeflate: false,
      maxFragments: FRAGMENTS_MAX,
      maxBufferedChunks: FRAGMENTS_MAX,
      autoPong: false, // connections reply to pings themselves, with backpressure
    })
  }
}
