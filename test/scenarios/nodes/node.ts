/** A program: one node on a shared store, with short leases. Its argument is the address of the store. */
import { labAgent } from '../../../src/agents/lab/agent.ts'
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import { configOptions } from '../../../src/server/config/config-options.ts'
import { createServer } from '../../../src/server/create-server.ts'
import { openStore } from '../../../src/server/store/open-store.ts'

const store = await openStore(configOptions.store.parse(process.argv[2]!))
const server = await createServer({
  components: [...labComponents(), { ...labAgent({ id: 'lab-queue', recovery: 'resume' }), onBusySession: 'enqueue' }],
  store,
  // A run that can resume does so, however often nodes die.
  limits: { leaseMs: 3000, maxAttempts: 1000, drainTimeoutMs: 500, retryDelayMs: 100 },
})
process.stdout.write(`Holdfast listens at ${server.url}\n`)
process.once('SIGTERM', () => void server.close().then(() => process.exit(0)))
