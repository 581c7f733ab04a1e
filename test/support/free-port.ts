/** A port that nobody listens on now: for what must know its address before it listens. */
import { createServer } from 'node:net'

/** Below those that the system hands out by itself, so that no connection or proxy that is opened meanwhile gets it. */
const [PORT_MIN, PORT_MAX] = [15_000, 32_000]
const TRIES_MAX = 100

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN))
    if (await isFree(port)) return port
  }
  throw new Error(`none of ${TRIES_MAX} ports between ${PORT_MIN} and ${PORT_MAX} is free`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
