/** A burst of connections to a busy server waits in the system's backlog until it is accepted. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const CONNECTIONS = 1000

function systemLimit(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
  } catch {
    return 0 // not Linux, where nobody says it
  }
}

// The system caps the queue of a listener; where its limit is lower, there is nothing that the server could do.
test.skipIf(systemLimit() < CONNECTIONS)(
  `[SEC-2] ${CONNECTIONS} connections that arrive before the server accepts any are queued, so that no other connection is dropped`,
  async () => {
    const server = await startServer({ store: temporaryDatabase() })
    const sockets: Socket[] = []
    process.kill(server.pid, 'SIGSTOP')
    onTestFinished(() => {
      process.kill(server.pid, 'SIGCONT')
      for (const socket of sockets) socket.destroy()
    })
    let connected = 0
    for (let at = 0; at < CONNECTIONS; at++)
      sockets.push(connect(Number(new URL(server.url).port), '127.0.0.1', () => connected++).on('error', () => {}))
    await until('all are connected', () => connected === CONNECTIONS)
    process.kill(server.pid, 'SIGCONT')
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
  },
)
