/** A TCP relay in front of a local server. What passes in each direction is its user's to say; how connections end is the same for all. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Relay {
  readonly port: number
  /** Both ends of every connection that there is. */
  readonly sockets: ReadonlySet<Socket>
  readonly close: () => Promise<void>
}

/** `join` is given both ends of each connection, and passes on what is to be passed on. When one end closes, so does the other. */
export async function openRelay(
  target: number | (() => number),
  join: (incoming: Socket, outgoing: Socket) => void,
): Promise<Relay> {
  const sockets = new Set<Socket>()
  const keep = (one: Socket, other: Socket): void => {
    sockets.add(one)
    one.on('error', () => {})
    one.on('close', () => {
      sockets.delete(one)
      other.destroy()
    })
  }
  const server = createServer((incoming) => {
    const outgoing = connect(typeof target === 'number' ? target : target(), '127.0.0.1')
    keep(incoming, outgoing)
    keep(outgoing, incoming)
    join(incoming, outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
