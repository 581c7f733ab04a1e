/**
 * A remote AgentOS agent as a component. Its server restarts in the middle of the answer, and the run loses nothing.
 *
 * Run it: node --conditions=holdfast-source examples/remote-agentos/main.ts
 *         AGENTOS_URL=http://localhost:7777 AGENTOS_AGENT=my-agent node … asks an AgentOS of yours, and restarts nothing.
 * Expect: the words of the answer with a restart after the first, then the whole answer.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, createMemoryStore } from 'holdfast'
import { remoteAgentOs } from 'holdfast/adapters'
import { createClient } from 'holdfast/client'
import { startRemote } from './remote.ts'

const { AGENTOS_URL, AGENTOS_AGENT: component = 'biologist' } = process.env
const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
const path = join(folder, 'remote.db')
let remote = AGENTOS_URL === undefined ? await startRemote(path) : undefined
const url = AGENTOS_URL ?? remote!.url

const biologist = remoteAgentOs({ id: 'biologist', url, component })
const server = await createServer({ components: [biologist], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'biologist', input: 'How fast does kelp grow?' })
let restarted = false
for await (const text of run.text()) {
  console.log(text)
  if (remote === undefined || restarted) continue
  await remote.close()
  remote = await startRemote(path, Number(new URL(url).port))
  restarted = true
  console.log('(the remote server restarted)')
}
console.log(await run.result())
await server.close()
await remote?.close()
rmSync(folder, { recursive: true })
