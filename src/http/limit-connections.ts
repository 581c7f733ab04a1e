/** Limits a listening server's connections, in total and per address. */
import type { Server, Socket } from 'node:net'
import type { Limits } from '../core/model/limits.ts'
import { AddressLimit } from './address-limit.ts'

/** Closes excess connections before reading from them. Listeners added later see them as destroyed. */
export function limitConnections(
  server: Server,
  { connectionsMax, connectionsPerAddressMax }: Pick<Limits, 'connectionsMax' | 'connectionsPerAddressMax'>,
): void {
  server.maxConnections = connectionsMax
  const limit = new AddressLimit({ perAddressMax: connectionsPerAddressMax, totalMax: connectionsMax })
  server.prependListener('connection', (socket: Socket) => {
    const release = limit.acquire(socket.remoteAddress)
    if (release === undefined) socket.destroy()
    else socket.once('close', release)
  })
}
