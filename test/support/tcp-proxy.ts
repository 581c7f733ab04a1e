/** Stands between a program and a server and can be a bad network: slow, deaf, or gone. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface TcpProxy {
  readonly port: number
  /** What the server says is lost from now on, and nobody is told. */
  loseAnswers(): void
  /** Nothing passes in either direction from now on, and nobody is told. */
  block(): void
  /** Nothing passes any more over the connections that there are, and nobody is told; those that come are well. */
  strand(): void
  /** Every connection breaks; those that come find things as they are now. */
  cut(): void
  /** All is well again for new connections. */
  heal(): void
  /** Each piece takes so long on its way to the server. */
  delay(milliseconds: number): void
}

/** Closed when the test is over. */
export async function startTcpProxy(target: number | (() => number)): Promise<TcpProxy> {
  const proxy = await openTcpProxy(target)
  onTestFinished(() => proxy.close())
  return proxy
}

/** For programs that are no tests: whoever opens it closes it. */
export async function openTcpProxy(
  target: number | (() => number),
): Promise<TcpProxy & { readonly close: () => Promise<void> }> {
  const sockets = new Set<Socket>()
  let state: 'open' | 'deaf' | 'blocked' = 'open'
  const stranded = new WeakSet<Socket>()
  let delayMs = 0
  const relay = (from: Socket, to: Socket, passes: () => boolean): void => {
    from.on('data', (piece) => {
      if (!passes() || stranded.has(from)) return
      if (delayMs === 0) to.write(piece)
      else setTimeout(() => to.writable && to.write(piece), delayMs)
    })
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    sockets.add(from)
  }
  const server = createServer((incoming) => {
    const outgoing = connect(typeof target === 'number' ? target : target(), '127.0.0.1')
    relay(incoming, outgoing, () => state !== 'blocked')
    relay(outgoing, incoming, () => state === 'open')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve))
    cut()
    await closed
  }
  return {
    port: (server.address() as AddressInfo).port,
    loseAnswers: () => (state = 'deaf'),
    block: () => (state = 'blocked'),
    strand: () => {
      for (const socket of sockets) stranded.add(socket)
    },
    cut,
    heal: () => (state = 'open'),
    delay: (milliseconds) => (delayMs = milliseconds),
    close,
  }
}
