/** Starts a run, kills the server in the middle of it, starts the server again, and checks every index. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from 'holdfast/client'

/** `program`: the server, which gets the path of its database and a port. */
export async function followAcrossKill(client: Client, program: URL, port: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  const startServer = () => fork(program, [join(folder, 'runs.db'), port])
  let server = startServer()
  try {
    // The client retries until the server listens, now and after the kill.
    const run = await client.runs.start({ component: 'counter', input: 'Wave' })
    let next = 0
    for await (const event of run.events()) {
      if (event.index !== next++) throw new Error(`expected event ${next - 1}, got ${event.index}`)
      console.log(event.index, event.type, event.type === 'text.delta' ? event.data.text.trimEnd() : '')
      if (event.index === 12) {
        server.kill('SIGKILL')
        await once(server, 'exit')
        console.log('killed')
        server = startServer()
      }
    }
    console.log(`${next} events, each once`)
  } finally {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}
