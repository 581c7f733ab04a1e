/** The connections of a server that is about to end: those on which nobody waits for an answer need not be waited for. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { isSecure } from './http-server.ts'

/** On a connection that is younger than this, a request may be on its way. */
const UNUSED_MS = 500

/** Gives what closes them, also those on which nothing was ever asked, as browsers open in advance: to Node these are in use. */
export function closerOfIdle(http: Server): () => void {
  const openedAt = new Map<Socket, number>()
  // Below TLS a socket is read by whoever decrypts it, and itself counts nothing.
  http.on(isSecure(http) ? 'secureConnection' : 'connection', (socket: Socket) => {
    openedAt.set(socket, performance.now())
    socket.once('close', () => openedAt.delete(socket))
  })
  return () => {
    http.closeIdleConnections()
    const before = performance.now() - UNUSED_MS
    for (const [socket, opened] of openedAt) if (opened < before && socket.bytesRead === 0) socket.destroy()
  }
}
