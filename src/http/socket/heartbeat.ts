/** Pings a WebSocket client, replies to its pings, and disconnects it if it does not reply. */
import type { WebSocket } from 'ws'
import type { SocketOutbox } from './outbox.ts'

export function keepAlive(socket: WebSocket, outbox: SocketOutbox, intervalMs: number): void {
  let alive = true
  const timer = setInterval(() => {
    if (socket.isPaused) return
    if (!alive) return socket.terminate()
    alive = false
    socket.ping()
  }, intervalMs)
  socket.on('ping', (data) => outbox.hasRoom && socket.pong(data))
  socket.on('pong', () => (alive = true))
  socket.on('close', () => clearInterval(timer))
}
