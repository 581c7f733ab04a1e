/** Limits a listening server's connections, in total and per address. */
import type { Server, Socket } from 'node:net'
import type { Limits } from '../../core/model/limits.ts'
import { AddressLimit } from './address-limit.ts'

/**
 * Connections that the system keeps for a server until its event loop accepts them. With the 511 of Node, a burst of a thousand makes it
 * drop those of others, whose clients then hear nothing for a minute. Systems have a limit of their own, such as `somaxconn`.
 */
export const LISTEN_BACKLOG = 4096

/** Closes connections over the limit before anything is read from them. Listeners added later find them destroyed. */
export function limitConnections(
  server: Server,
  { maxConnections, maxConnectionsPerAddress }: Pick<Limits, 'maxConnections' | 'maxConnectionsPerAddress'>,
): void {
  server.maxConnections = maxConnections
  const limit = new AddressLimit({ maxPerAddress: maxConnectionsPerAddress, maxTotal: maxConnections })
  server.prependListener('connection', (socket: Socket) => {
    const release = limit.acquire(socket.remoteAddress)
    if (release === undefined) socket.destroy()
    else socket.once('close', release)
  })
}
