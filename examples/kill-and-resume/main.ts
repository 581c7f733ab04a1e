/**
 * Kills the server in the middle of a run and starts it again. The same loop over events goes on, and checks every index.
 *
 * Run it: node --conditions=holdfast-source examples/kill-and-resume/main.ts [PORT]
 * Expect: events numbered without a gap across the kill, and a count that no number is missing from.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'holdfast/client'

const [, , port = '7788'] = process.argv
const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
const startServer = () => fork(new URL('./server.ts', import.meta.url), [join(folder, 'runs.db'), port])

let server = startServer()
try {
  // The client retries until the server listens, now and after the kill.
  const client = createClient({ url: `http://127.0.0.1:${port}` })
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
