/** Closes idle connections during shutdown. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { isSecure } from './http-server.ts'

/** A younger connection without a request is not idle: its first request may be in transit. */
const UNUSED_MS = 500

/** Returns a function that closes idle connections, including unused ones that browsers open in advance, which Node counts as active. */
export function closerOfIdle(http: Server): () => void {
  const openedAt = new Map<Socket, number>()
  // With TLS, only the decrypted socket counts bytes read.
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
