/**
 * Kills the server while a workflow executes two branches in parallel, and starts it again. Finished steps are not repeated.
 *
 * Run it: node --conditions=holdfast-source examples/workflow/main.ts [PORT]
 * Expect: outline and pictures before the kill, facts and print after it, each once.
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
  const run = await client.runs.start({ component: 'publish', input: 'kelp' })
  for await (const event of run.events()) {
    // The quick branch is done and in the log. The slow one is not.
    if (event.type === 'step.completed' && event.data.name === 'pictures') {
      server.kill('SIGKILL')
      await once(server, 'exit')
      console.log('killed')
      server = startServer()
    }
  }
  console.log(await run.result())
} finally {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
