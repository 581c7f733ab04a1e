/** A free port, for servers that must know their address before they listen. */
import { createServer } from 'node:net'

/** Below the ephemeral range, so that other connections do not get it. */
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
