/** A TCP relay in front of a local server. The caller decides what passes in each direction. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Relay {
  readonly port: number
  /** Both ends of every open connection. */
  readonly sockets: ReadonlySet<Socket>
  readonly close: () => Promise<void>
}

/** `join` gets both ends of each connection and forwards data. When one end closes, so does the other. */
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
