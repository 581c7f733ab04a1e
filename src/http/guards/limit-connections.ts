/** Limits a listening server's connections, in total and per address. */
import type { Server, Socket } from 'node:net'
import type { Limits } from '../../core/model/limits.ts'
import { AddressLimit } from './address-limit.ts'

/**
 * Accept queue of the listening socket. With Node's default of 511, a burst of a thousand connections makes the system drop those of
 * other clients, which then wait for a minute. Systems have a limit of their own, such as `somaxconn`.
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
