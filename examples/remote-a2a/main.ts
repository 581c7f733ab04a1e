/**
 * A remote A2A agent as a component: its task is a run here, and its output is in the log. peer.ts is the other agent's server.
 *
 * Run it: node --conditions=holdfast-source examples/remote-a2a/main.ts
 * Expect: the two chunks that the other server streams, then the output.
 */
import { createServer, createMemoryStore } from 'holdfast'
import { remoteA2aAgent } from 'holdfast/adapters'
import { createClient } from 'holdfast/client'
import { peer, url } from './peer.ts'

const biologist = remoteA2aAgent({ id: 'biologist', url })
const server = await createServer({ components: [biologist], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'biologist', input: 'What is kelp?' })
for await (const text of run.text()) console.log(text)
console.log(await run.result())
await server.close()
peer.close()
