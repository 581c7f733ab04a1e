/** A burst of requests shares the event loop with timers, commits and streams of runs. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Authenticator } from '../../src/core/model/principal.ts'
import { longestTurnMs, threadCpuMs } from '../support/turns.ts'
import { until } from '../support/until.ts'
import { serveNative } from './native/serve.ts'

const REQUESTS = 40
const WORK_MS = 3

/** Takes its time, as hashing and rendering do. */
const busy: Authenticator = {
  scheme: 'keys',
  authenticate: async () => {
    const end = threadCpuMs() + WORK_MS
    while (threadCpuMs() < end);
    return { id: 'anna' }
  },
}

test('[SEC-2] a burst of requests on many connections takes several turns of the event loop', async () => {
  const { port } = await serveNative({ authenticator: busy })
  const sockets = await Promise.all(
    Array.from({ length: REQUESTS }, async () => {
      const socket: Socket = connect(port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
      await once(socket, 'data') // the server has accepted it
      return socket
    }),
  )
  let answered = 0
  const longest = await longestTurnMs(async () => {
    for (const socket of sockets) {
      socket.write('GET /runs/none HTTP/1.1\r\nhost: localhost\r\n\r\n')
      socket.on('data', (data: Buffer) => (answered += data.toString().split('HTTP/1.1 404').length - 1))
    }
    await until('all are answered', () => answered === REQUESTS)
  })
  expect(longest).toBeLessThan((REQUESTS * WORK_MS) / 2)
})
