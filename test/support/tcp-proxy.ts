/** A TCP proxy that simulates a bad network: slow, lossy or down. */
import type { Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { openRelay } from './relay.ts'

export interface TcpProxy {
  readonly port: number
  /** Silently drops data from the server. */
  loseAnswers(): void
  /** Silently drops data in both directions. */
  block(): void
  /** Silently drops data on existing connections; new ones work. */
  strand(): void
  /** Breaks every connection; new ones get the current behaviour. */
  cut(): void
  /** New connections work again. */
  heal(): void
  /** Delays each chunk to the server. */
  delay(milliseconds: number): void
}

/** Closed after the test. */
export async function startTcpProxy(target: number | (() => number)): Promise<TcpProxy> {
  const proxy = await openTcpProxy(target)
  onTestFinished(() => proxy.close())
  return proxy
}

/** For programs outside of tests; the caller closes it. */
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
