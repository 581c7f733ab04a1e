/**
 * A component in worker threads: a run that blocks its thread delays no other run, and can be stopped.
 *
 * Run it: node --conditions=holdfast-source examples/isolated/main.ts
 * Expect: the second run completes while the first one is stuck; then the first one is cancelled.
 */
import { createServer, isolated, createMemoryStore } from 'holdfast'
import { createClient } from 'holdfast/client'

const matcher = await isolated(new URL('./regex.ts', import.meta.url), { memoryMb: 64, maxConcurrentRuns: 4 })
const server = await createServer({ components: [matcher], store: createMemoryStore() })
const client = createClient({ url: server.url })

const text = `${'a'.repeat(64)}!`
const stuck = await client.runs.start({ component: 'matcher', input: { pattern: '^(a+)+$', text } })
for await (const event of stuck.events()) if (event.type === 'step.started') break

const quick = await client.runs.start({ component: 'matcher', input: { pattern: 'a!$', text } })
console.log('quick:', await quick.result())
console.log('stuck:', (await stuck.get()).status)

await stuck.stop()
for await (const event of stuck.events()) if (event.type === 'run.cancelled') console.log('stuck: cancelled')
await server.close()
