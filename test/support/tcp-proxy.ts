/** Stands between a program and a server and can be a bad network: slow, deaf, or gone. */
import type { Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { openRelay } from './relay.ts'

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
  let state: 'open' | 'deaf' | 'blocked' = 'open'
  const stranded = new WeakSet<Socket>()
  let delayMs = 0
  const pass = (from: Socket, to: Socket, passes: () => boolean): void => {
    from.on('data', (piece) => {
      if (!passes() || stranded.has(from)) return
      if (delayMs === 0) to.write(piece)
      else setTimeout(() => to.writable && to.write(piece), delayMs)
    })
  }
  const { port, sockets, close } = await openRelay(target, (incoming, outgoing) => {
    pass(incoming, outgoing, () => state !== 'blocked')
    pass(outgoing, incoming, () => state === 'open')
  })
  return {
    port,
    loseAnswers: () => (state = 'deaf'),
    block: () => (state = 'blocked'),
    strand: () => {
      for (const socket of sockets) stranded.add(socket)
    },
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    heal: () => (state = 'open'),
    delay: (milliseconds) => (delayMs = milliseconds),
    close,
  }
}
