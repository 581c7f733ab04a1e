/** Starts a run, kills the server in the middle of it, starts the server again, and checks every index. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client } from 'holdfast/client'

/**
 * `start`: starts the server with the path of its database. Resolves with the number of events; throws at the first index that is missing
 * or comes twice.
 */
export async function followAcrossKill(client: Client, start: (database: string) => ChildProcess): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  const startServer = () => start(join(folder, 'runs.db'))
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
    return next
  } finally {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A program that gets the path of its database and a port. `runtime`: the command that runs it. */
export function programAt(
  program: URL,
  port: string,
  [command, ...flags]: readonly [string, ...string[]] = [process.execPath, ...process.execArgv],
): (database: string) => ChildProcess {
  return (database) => spawn(command, [...flags, fileURLToPath(program), database, port], { stdio: 'inherit' })
}
